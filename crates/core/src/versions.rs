//! Loops compiled for the instruction sets of more than one processor.

/// Compiles a block of plain loops for two lists of x86's features and for the target's baseline, and runs the first
/// version that the processor supports, so no `target-cpu` flag is needed.
///
/// The block becomes a function of the listed variables. A closure would not be inlined into the function with the
/// instruction set, and `mul_add` would become a call of the C library.
///
/// ```
/// let values = [1.0f32, 2.0];
/// let factor = 3.0;
/// let sum = dsokr_core::versions! {
///     ["avx512f"], ["avx2"], (values: [f32; 2], factor: f32) -> f32 {
///         values.iter().map(|value| factor * value).sum()
///     }
/// };
/// assert_eq!(sum, 9.0);
/// ```
#[macro_export]
macro_rules! versions {
    ([$($wide:tt),+], [$($narrow:tt),+], ($($name:ident: $type:ty),* $(,)?) -> $out:ty $body:block) => {{
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn body($($name: $type),*) -> $out $body
        #[cfg(target_arch = "x86_64")]
        #[target_feature($(enable = $wide),+)]
        #[allow(clippy::too_many_arguments)]
        fn wide($($name: $type),*) -> $out {
            body($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature($(enable = $narrow),+)]
        #[allow(clippy::too_many_arguments)]
        fn narrow($($name: $type),*) -> $out {
            body($($name),*)
        }
        match () {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every feature that the function enables was detected
            () if $(std::is_x86_feature_detected!($wide))&&+ => unsafe { wide($($name),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above
            () if $(std::is_x86_feature_detected!($narrow))&&+ => unsafe { narrow($($name),*) },
            () => body($($name),*),
        }
    }};
}
