//! Pretrained encoders of the BERT family, read from a local folder as Hugging Face's transformers
//! saves it, and written back in the same layout.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | the sizes; `model_type` is `bert` (also SciBERT, MiniLM, …), `roberta`, `xlm-roberta` or `camembert` |
//! | `tokenizer.json`, else `vocab.txt` with `tokenizer_config.json` | the [`Tokenizer`] |
//! | `model.safetensors`, else `pytorch_model.bin`, or their shards with `….index.json` | the weights: 32-bit floats, or 16-bit floats that are widened |
//!
//! Every tensor of a weight file becomes a parameter or is known to be unused: the pooler, the heads
//! of pre-training and of other tasks (`cls`, `lm_head`, `classifier`, `qa_outputs`), and the integer
//! buffers of older files. Any other tensor, and any missing one, is an error, so the weights of a
//! different architecture are never half loaded.

mod config;
mod encoder;
mod folder;
mod layout;
mod sentence;
mod tensors;
mod tokenizer;
mod tokenizer_file;
mod weights;
mod write;

pub use encoder::PretrainedConfig;
pub use folder::{COMPANIONS, Pretrained};
pub use sentence::is_exported;
pub use tokenizer::Tokenizer;
