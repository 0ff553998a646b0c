use crate::error::Error;
use crate::tokenizer::Tokenizer;

/// How a pretrained encoder reads a text: behind a prompt, as tokens up to a maximal length.
#[derive(Clone, Debug)]
pub struct TextReader {
    pub(super) tokenizer: Tokenizer,
    pub(super) prompt: String,
    pub(super) max_length: usize,
}

impl TextReader {
    /// Returns the longest text in tokens, special ones and those of the prompt included.
    pub fn max_length(&self) -> usize {
        self.max_length
    }

    /// Returns what is put before each text.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Returns the tokens of a text, as [`Tokenizer::encode`] does.
    ///
    /// # Errors
    /// The errors of [`Tokenizer::encode`].
    pub fn encode(&self, text: &str) -> Result<(Vec<u32>, bool), Error> {
        if self.prompt.is_empty() {
            return self.tokenizer.encode(text, self.max_length);
        }
        self.tokenizer.encode(&format!("{}{text}", self.prompt), self.max_length)
    }

    /// Returns the number of tokens of the prompt, with the special ones before it, which are the first of each text.
    ///
    /// # Errors
    /// The errors of [`Tokenizer::encode`].
    pub(super) fn prompt_tokens(&self) -> Result<usize, Error> {
        if self.prompt.is_empty() {
            return Ok(0);
        }
        let (tokens, _) = self.encode("")?;
        let special = self.tokenizer.encode("", self.max_length)?.0;
        let ends_special = self.tokenizer.special_tokens > 0 && tokens.last() == special.last();
        Ok(tokens.len() - usize::from(ends_special))
    }
}
