//! Slopes of losses: the dual variables of the solver.

use super::loss::{Loss, distance};

/// Steps of Newton's method on a scalar equation; it takes three to six.
const NEWTON: usize = 60;

impl Loss {
    /// A bound on the second derivatives in f; none for a loss with kinks.
    pub(crate) fn curvature(&self) -> Option<f64> {
        match self {
            Self::Square | Self::Huber { .. } => Some(1.0),
            Self::EpsilonInsensitiveSquare { .. } => Some(2.0),
            Self::EpsilonInsensitive { .. } | Self::Pinball { .. } => None,
        }
    }

    /// The gradient in f, of a loss without kinks, and the conjugate `ℓ*(α) = ⟨α, f⟩ − ℓ(f)` there.
    pub(crate) fn gradient(&self, f: &[f64], y: &[f64], residual: f64, alpha: &mut [f64]) -> f64 {
        let root = distance(f, y, residual);
        let factor = match *self {
            Self::Huber { kappa } if root > kappa => kappa / root,
            Self::EpsilonInsensitiveSquare { epsilon } if root > epsilon => {
                2.0 * (1.0 - epsilon / root)
            }
            Self::EpsilonInsensitiveSquare { .. } => 0.0,
            _ => 1.0,
        };
        for ((alpha, f), y) in alpha.iter_mut().zip(f).zip(y) {
            *alpha = factor * (f - y);
        }
        dot(alpha, f) - self.value(f, y, residual)
    }

    /// The gradient at f of the loss smoothed about the slope `centre`,
    /// `ℓ_μ(f) = max_α ⟨α, f⟩ − ℓ*(α) − (μ/2) ‖α − centre‖²`, and `ℓ*(α)` of the maximiser α.
    ///
    /// With `w = f + μ centre` and `u = prox_{μℓ}(w)`, `α = (w − u)/μ`, which is a slope of ℓ at u.
    /// `scratch` holds d numbers.
    pub(crate) fn smoothed(
        &self,
        f: &[f64],
        y: &[f64],
        residual: f64,
        (mu, centre): (f64, &[f64]),
        alpha: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        match self {
            Self::Pinball { levels } => {
                let mut conjugate = 0.0;
                for j in 0..alpha.len() {
                    let slope = (f[j] - y[j]) / mu + centre[j];
                    alpha[j] = slope.clamp(-levels[j], 1.0 - levels[j]);
                    conjugate += alpha[j] * y[j];
                }
                conjugate
            }
            Self::EpsilonInsensitive { epsilon } => {
                for j in 0..scratch.len() {
                    scratch[j] = f[j] + mu * centre[j];
                }
                let far = distance(scratch, y, 0.0);
                let near = insensitive_prox(far, *epsilon, residual, mu);
                // α and u lie on the line from y to w.
                let along = if far > 0.0 { (far - near) / (mu * far) } else { 0.0 };
                for j in 0..alpha.len() {
                    let from = scratch[j] - y[j];
                    alpha[j] = along * from;
                    scratch[j] = y[j] + if far > 0.0 { from * (near / far) } else { 0.0 };
                }
                dot(alpha, scratch) - self.value(scratch, y, residual)
            }
            smooth => smooth.gradient(f, y, residual, alpha),
        }
    }
}

/// The minimiser t ≥ 0 of `(t − a)²/2μ + max(√(t² + r) − ε, 0)`.
fn insensitive_prox(a: f64, epsilon: f64, r: f64, mu: f64) -> f64 {
    if a * a + r <= epsilon * epsilon {
        return a;
    }
    // t (1 + μ/√(t² + r)) = a; the left side is concave and rises, so Newton's method climbs to the root.
    let mut t = (a - mu).max(0.0);
    if r > 0.0 {
        for _ in 0..NEWTON {
            let root = (t * t + r).sqrt();
            let excess = t * (1.0 + mu / root) - a;
            let step = -excess / (1.0 + mu * r / (root * root * root));
            t += step;
            if step <= 1e-15 * a {
                break;
            }
        }
    }
    // Within the insensitive ball the slope is 0: the minimiser is on its surface.
    t.max((epsilon * epsilon - r).max(0.0).sqrt())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses() -> Vec<Loss> {
        vec![
            Loss::Square,
            Loss::Huber { kappa: 0.7 },
            Loss::EpsilonInsensitive { epsilon: 0.6 },
            Loss::EpsilonInsensitive { epsilon: 0.0 },
            Loss::EpsilonInsensitiveSquare { epsilon: 0.6 },
            Loss::Pinball { levels: vec![0.2, 0.9] },
        ]
    }

    /// Points from far to near, on both sides of every kink.
    fn points() -> Vec<[f64; 2]> {
        let grid = [-2.1, -0.43, 0.02, 0.31, 1.7];
        grid.iter().flat_map(|&a| grid.map(|b| [a, b])).collect()
    }

    #[test]
    fn gradients_are_finite_differences() {
        let (y, step) = ([0.1, -0.2], 1e-6);
        for loss in losses() {
            for residual in [0.0, 0.3, 0.9] {
                for f in points() {
                    // Central differences of the smoothed loss, itself from its definition by Moreau:
                    // ℓ_μ(f) = ⟨α, f⟩ − ℓ*(α) − (μ/2) ‖α − centre‖².
                    let (mu, centre) = (0.3, [0.1, -0.2]);
                    let smoothed = |f: &[f64]| {
                        let (mut alpha, mut scratch) = ([0.0; 2], [0.0; 2]);
                        let (a, s) = (&mut alpha, &mut scratch);
                        let conjugate = loss.smoothed(f, &y, residual, (mu, &centre), a, s);
                        let away: f64 =
                            alpha.iter().zip(centre).map(|(a, c)| (a - c) * (a - c)).sum();
                        let penalty = if loss.curvature().is_some() { 0.0 } else { mu };
                        (dot(&alpha, f) - conjugate - 0.5 * penalty * away, alpha)
                    };
                    let (_, alpha) = smoothed(&f);
                    for j in 0..2 {
                        let (mut low, mut high) = (f, f);
                        low[j] -= step;
                        high[j] += step;
                        let slope = (smoothed(&high).0 - smoothed(&low).0) / (2.0 * step);
                        let found = alpha[j];
                        assert!(
                            (slope - found).abs() < 2e-6,
                            "{loss:?}, r {residual}, f {f:?}, j {j}: {slope} and {found}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn slopes_are_dual_feasible() {
        // Fenchel–Young: ℓ(v) + ℓ*(α) ≥ ⟨α, v⟩ for every v, else ℓ* is not the conjugate.
        let y = [0.1, -0.2];
        for loss in losses() {
            for residual in [0.0, 0.3, 0.9] {
                for f in points() {
                    let (mut alpha, mut scratch) = ([0.0; 2], [0.0; 2]);
                    let centre = [0.1, -0.15];
                    let smoothing = (0.3, &centre[..]);
                    let conjugate =
                        loss.smoothed(&f, &y, residual, smoothing, &mut alpha, &mut scratch);
                    for v in points() {
                        let short = loss.value(&v, &y, residual) + conjugate - dot(&alpha, &v);
                        assert!(
                            short > -1e-12,
                            "{loss:?}, r {residual}, f {f:?}, v {v:?}: {short}"
                        );
                    }
                }
            }
        }
    }
}
