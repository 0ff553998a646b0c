//! Pretrained encoders: ids against Hugging Face's, parameters against PyTorch's files and the
//! golden hidden states, folders of sentence-transformers, and bad folders.
//!
//! `half.bin` and `legacy.bin` are written by PyTorch's `torch.save`, in the zip format and in that
//! before 1.6, from the values that [`folder::value`] gives.

mod bad_folders;
mod families;
mod folder;
mod golden;
mod sentences;
mod tokenizer;
mod weights;
mod written;
