use bytemuck::Pod;
use half::f16;
use safetensors::Dtype;

/// Types of elements that files hold.
pub trait Element: Pod {
    /// The type in the file.
    const DTYPE: Dtype;
}

macro_rules! element_types {
    ($($element:ty, $dtype:ident;)*) => {$(
        impl Element for $element {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

element_types! { u8, U8; u32, U32; u64, U64; f16, F16; f32, F32; f64, F64; }
