//! Probabilities of all classes from those of each pair: the second method of Wu, Lin and Weng, "Probability
//! Estimates for Multi-class Classification by Pairwise Coupling", Journal of Machine Learning Research 5 (2004).
//!
//! In f32 and with the bound of ONNX Runtime, 0.005 through the number of classes, because where the iteration stops
//! is seen in the answer.

const ROUNDS_MAX: usize = 100;

/// What the iteration works in, for one row.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    /// Probability of the row's class in each pair: classes x classes.
    pub pairs: Vec<f32>,
    q: Vec<f32>,
    qp: Vec<f32>,
}

impl Room {
    pub(super) fn new(classes: usize) -> Self {
        let square = classes * classes;
        Self { pairs: vec![0.0; square], q: vec![0.0; square], qp: vec![0.0; classes] }
    }

    pub(super) fn bytes(classes: usize) -> usize {
        (2 * classes * classes + classes) * size_of::<f32>()
    }

    /// The probability of each class, to `p`.
    #[allow(clippy::cast_precision_loss)] // few classes
    pub(super) fn couple(&mut self, p: &mut [f32]) {
        let classes = p.len();
        let (r, q, qp) = (&self.pairs, &mut self.q, &mut self.qp);
        q.fill(0.0);
        for i in 0..classes {
            p[i] = 1.0 / classes as f32;
            for j in (0..classes).filter(|j| *j != i) {
                q[i * classes + i] += r[j * classes + i] * r[j * classes + i];
                q[i * classes + j] = if j < i { q[j * classes + i] } else { -r[j * classes + i] * r[i * classes + j] };
            }
        }
        let bound = 0.005 / classes as f32;
        for _ in 0..ROUNDS_MAX {
            let mut pqp = 0.0;
            for i in 0..classes {
                qp[i] = 0.0;
                for j in 0..classes {
                    qp[i] += q[i * classes + j] * p[j];
                }
                pqp += p[i] * qp[i];
            }
            let error =
                qp.iter().fold(0.0f32, |most, qp| if (qp - pqp).abs() > most { (qp - pqp).abs() } else { most });
            if error < bound {
                return;
            }
            for i in 0..classes {
                let own = q[i * classes + i];
                let step = (-qp[i] + pqp) / own;
                p[i] += step;
                pqp = (pqp + step * (step * own + 2.0 * qp[i])) / (1.0 + step) / (1.0 + step);
                for j in 0..classes {
                    qp[j] = (qp[j] + step * q[i * classes + j]) / (1.0 + step);
                    p[j] /= 1.0 + step;
                }
            }
        }
    }
}
