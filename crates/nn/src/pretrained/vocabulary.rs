//! The tokenizers of folders without a tokenizer.json.

use std::path::{Path, PathBuf};

use dsokr_core::store::read_text;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, PostProcessorWrapper};

use super::added_tokens::TokenFiles;
use super::classes::{Cleaning, named, naming, word_piece_classes};
use super::config::{Config, VECTORS};
use super::families::{ROBERTA_TOKENIZER, Vocabulary};
use super::json::JsonFile;
use crate::error::Error;
use crate::tokenizer::Tokenizer;

/// Vocabularies of the library SentencePiece, which are not read.
const SENTENCE_PIECE_FILES: [&str; 4] =
    ["sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model"];

/// Reads the tokenizer of a folder that has no tokenizer.json, from the files of its family's vocabulary. A
/// tokenizer_config.json next to them may say otherwise than the family, and so may config.json.
pub(super) fn read(folder: &Path, config: &Config) -> Result<(PathBuf, Tokenizer), Error> {
    let files = TokenFiles::read(folder)?;
    let naming = naming(&files.keys, &config.file);
    let kind = config.family.vocabulary;
    let [words, pairs, merges] =
        ["vocab.txt", "vocab.json", "merges.txt"].map(|name| folder.join(name));
    if words.exists() {
        let tokenizer = match kind {
            Vocabulary::Letters => letters(&words, &files, naming)?,
            Vocabulary::WordPieces(special) => word_pieces(&words, &files, naming, Some(special))?,
            Vocabulary::BytePairs | Vocabulary::Unknown => {
                word_pieces(&words, &files, naming, None)?
            }
        };
        return Ok((words, tokenizer));
    }
    if pairs.exists() && merges.exists() && kind == Vocabulary::BytePairs {
        let tokenizer = byte_pairs(&pairs, &merges, &files, naming)?;
        return Ok((pairs, tokenizer));
    }
    let also = if kind == Vocabulary::BytePairs { ", nor vocab.json with merges.txt" } else { "" };
    let mut message =
        format!("no tokenizer: the folder has neither tokenizer.json nor vocab.txt{also}");
    if let Some(remedy) = sentence_piece_remedy(folder) {
        message += &format!("; {remedy}");
    }
    Err(Error::file(folder, message))
}

/// Returns what makes a tokenizer.json of a folder's vocabulary of the library SentencePiece, if it has one.
pub fn sentence_piece_remedy(folder: &Path) -> Option<String> {
    let name = SENTENCE_PIECE_FILES.iter().find(|name| folder.join(name).exists())?;
    Some(format!(
        "from {name} transformers makes a tokenizer.json: \
         `AutoTokenizer.from_pretrained(…).save_pretrained(…)`"
    ))
}

/// Refuses a `tokenizer_class` that is none of these; without one, the family decides.
fn check_class(naming: &JsonFile, classes: &[&str], is_family: bool) -> Result<(), Error> {
    let fits = match named(naming)? {
        Some(class) => classes.contains(&class),
        None => is_family,
    };
    if fits {
        return Ok(());
    }
    if !naming.path.exists() {
        let message = format!(
            "it is not there, and nothing else says what vocab.txt holds: with `{{\"tokenizer_class\": {:?}}}` in it, \
             pieces of words such as `##ing`; a tokenizer of another kind, such as one of atoms, needs a tokenizer.json, \
             {VECTORS}",
            classes[0]
        );
        return Err(Error::file(&naming.path, message));
    }
    let names: Vec<String> =
        classes.iter().map(|class| format!("{class:?} or \"{class}Fast\"")).collect();
    let allowed = format!("{}, unless there is a tokenizer.json, {VECTORS}", names.join(", "));
    Err(naming.refuse("tokenizer_class", &allowed))
}

/// The special tokens of a vocabulary that files may name otherwise.
struct SpecialTokens<'a> {
    files: &'a TokenFiles,
    vocabulary: &'a Vocab,
    path: &'a Path,
    /// The special tokens that were asked for.
    all: Vec<AddedToken>,
}

impl<'a> SpecialTokens<'a> {
    fn new(files: &'a TokenFiles, vocabulary: &'a Vocab, path: &'a Path) -> Self {
        Self { files, vocabulary, path, all: Vec::new() }
    }

    /// Returns a token that the vocabulary must have, and its id.
    fn required(&mut self, key: &str, default: &str) -> Result<(String, u32), Error> {
        let token = self.may_be(key, default)?;
        match self.vocabulary.get(&token) {
            Some(id) => Ok((token, *id)),
            None => {
                let message = format!("the vocabulary has no {key} `{token}`");
                Err(Error::file(self.path, message))
            }
        }
    }

    /// Returns a token that the vocabulary may have.
    fn may_be(&mut self, key: &str, default: &str) -> Result<String, Error> {
        let token = self.files.special(key, Some(default))?;
        let content = token.as_ref().map_or_else(String::new, |token| token.content.clone());
        self.all.extend(token);
        Ok(content)
    }
}

/// Reads byte pairs as RoBERTa's tokenizer does: a text is split into words with the space before them, which are
/// joined from bytes by the merges, and enclosed in `<s>` and `</s>`. A tokenizer_config.json may name other special
/// tokens, and set `add_prefix_space` (default: false).
fn byte_pairs(
    path: &Path,
    merges: &Path,
    files: &TokenFiles,
    naming: &JsonFile,
) -> Result<Tokenizer, Error> {
    check_class(naming, &[ROBERTA_TOKENIZER], true)?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    let file = JsonFile::read(path)?;
    let ids = file.json.iter().map(|(token, id)| {
        let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| file.refuse(token, "an id, a whole number"))?;
        Ok((token.clone(), id))
    });
    let vocabulary: Vocab = ids.collect::<Result<_, Error>>()?;
    let text = read_text(merges).map_err(|e| Error::file(merges, e))?;
    let mut pairs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || (number == 0 && line.starts_with("#version")) {
            continue;
        }
        let Some((first, second)) = line.split_once(' ') else {
            let message = format!("line {}: {line:?} is not two tokens", number + 1);
            return Err(Error::file(merges, message));
        };
        pairs.push((first.to_owned(), second.to_owned()));
    }
    let mut special = SpecialTokens::new(files, &vocabulary, path);
    let first = special.required("cls_token", "<s>")?;
    let last = special.required("sep_token", "</s>")?;
    special.required("unk_token", "<unk>")?;
    special.may_be("pad_token", "<pad>")?;
    special.may_be("mask_token", "<mask>")?;
    let special = special.all;
    let add_prefix_space = files.keys.flag("add_prefix_space", false)?;

    let model = BPE::builder().vocab_and_merges(vocabulary, pairs);
    let model = model.build().map_err(|e| Error::file(merges, e))?;
    let mut inner = tokenizers::Tokenizer::new(model);
    inner.with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)));
    let enclosed = RobertaProcessing::new(last, first).add_prefix_space(add_prefix_space);
    inner.with_post_processor(Some(enclosed));
    inner.with_decoder(Some(ByteLevel::default()));
    files.add_to(&mut inner, special, path)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}

/// Reads a vocabulary of letters with one token a line, as ESM's tokenizer does: every token of the vocabulary is one
/// wherever it occurs, what lies between is unknown, and a text is enclosed in `<cls>` and `<eos>`. Where
/// tokenizer_config.json has the `eos_token` null, nothing follows a text.
fn letters(path: &Path, files: &TokenFiles, naming: &JsonFile) -> Result<Tokenizer, Error> {
    check_class(naming, &["EsmTokenizer"], true)?;
    let text = read_text(path).map_err(|e| Error::file(path, e))?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    let tokens: Vec<&str> = text.lines().map(str::trim).collect();
    let vocabulary: Vocab =
        tokens.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), id)).collect();
    let mut special = SpecialTokens::new(files, &vocabulary, path);
    let first = special.required("cls_token", "<cls>")?;
    let last = if files.is_without("eos_token") {
        None
    } else {
        Some(special.required("eos_token", "<eos>")?)
    };
    let (unknown, _) = special.required("unk_token", "<unk>")?;
    special.may_be("pad_token", "<pad>")?;
    special.may_be("mask_token", "<mask>")?;
    let is_special = |token: &str| special.all.iter().any(|known| known.content == token);
    let letters = tokens
        .iter()
        .filter(|token| !token.is_empty())
        .map(|token| AddedToken::from(*token, is_special(token)).normalized(false))
        .collect();
    let model = WordLevel::builder().vocab(vocabulary.clone()).unk_token(unknown);
    let mut inner = tokenizers::Tokenizer::new(model.build().map_err(library)?);
    inner.with_pre_tokenizer(Some(WhitespaceSplit));
    let enclosed: PostProcessorWrapper = match last {
        Some(last) => BertProcessing::new(last, first).into(),
        None => {
            let mut preceded = TemplateProcessing::builder();
            preceded.try_single(vec![first.0.as_str(), "$A"]).map_err(Error::Tokenizer)?;
            let preceded = preceded.special_tokens(vec![first]).build();
            preceded.map_err(|e| Error::Tokenizer(e.to_string()))?.into()
        }
    };
    inner.with_post_processor(Some(enclosed));
    files.add_to(&mut inner, letters, path)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}

/// Reads a WordPiece vocabulary with one token per line, as BERT's tokenizer does.
///
/// Texts are cleaned of control characters, lower-cased, stripped of accents, split at spaces,
/// punctuation and Chinese characters, and enclosed in `[CLS]` and `[SEP]`, or in the tokens of the family. A
/// tokenizer_config.json next to the vocabulary may say otherwise: `do_lower_case` (default
/// true), `strip_accents` (default: as `do_lower_case`), `tokenize_chinese_chars` (default
/// true), `unk_token`, `cls_token`, `sep_token`, `pad_token`, `mask_token`. `tokens` are the ones of a family whose
/// vocabularies are pieces of words.
fn word_pieces(
    path: &Path,
    files: &TokenFiles,
    naming: &JsonFile,
    tokens: Option<[&str; 4]>,
) -> Result<Tokenizer, Error> {
    check_class(naming, &word_piece_classes(), tokens.is_some())?;
    let [first, last, mask, pad] = tokens.unwrap_or(["[CLS]", "[SEP]", "[MASK]", "[PAD]"]);
    let text = read_text(path).map_err(|e| Error::file(path, e))?;
    let library = |e: tokenizers::Error| Error::file(path, e);
    // empty lines at the end are not tokens: the model would lack vectors for them
    let lines = text.trim_end_matches(['\n', '\r']).as_bytes();
    let vocabulary = WordPiece::read_bytes(lines).map_err(library)?;
    let mut special = SpecialTokens::new(files, &vocabulary, path);
    let (unknown, _) = special.required("unk_token", "[UNK]")?;
    let first = special.required("cls_token", first)?;
    let last = special.required("sep_token", last)?;
    special.may_be("pad_token", pad)?;
    special.may_be("mask_token", mask)?;
    let special = special.all;
    let Cleaning { lowercase, accents, chinese } = Cleaning::read(&files.keys)?;

    let model = WordPiece::builder().vocab(vocabulary).unk_token(unknown);
    let model = model.build().map_err(library)?;
    let mut inner = tokenizers::Tokenizer::new(model);
    let normalizer = BertNormalizer::new(true, chinese, accents, lowercase);
    inner.with_normalizer(Some(normalizer)).map_err(library)?;
    inner.with_pre_tokenizer(Some(BertPreTokenizer));
    inner.with_post_processor(Some(BertProcessing::new(last, first)));
    inner.with_decoder(Some(tokenizers::decoders::wordpiece::WordPiece::default()));
    files.add_to(&mut inner, special, path)?;
    let json = inner.to_string(true).map_err(library)?;
    Tokenizer::checked(inner, path, json)
}
