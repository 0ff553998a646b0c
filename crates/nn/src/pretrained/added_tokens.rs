//! Special tokens, and tokens that a folder adds to its vocabulary.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tokenizers::AddedToken;

use super::json::JsonFile;
use crate::error::Error;
use crate::tokenizer::Tokenizer;

/// What a folder says of its tokens: tokenizer_config.json, special_tokens_map.json and added_tokens.json, of which any
/// may be absent. As in transformers, the last two are read only where the first has no `added_tokens_decoder`.
pub(super) struct TokenFiles {
    /// tokenizer_config.json.
    pub(super) keys: JsonFile,
    /// special_tokens_map.json, whose tokens replace those of tokenizer_config.json.
    map: JsonFile,
    /// The tokens that are added, by id.
    pub(super) added: BTreeMap<u32, AddedToken>,
}

/// The special tokens that have a part, in the order in which transformers adds them.
const PARTS: [&str; 7] = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"];
/// A key with further special tokens, under its former and its present name: a list, or an object that names each.
const FURTHER: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];
const DECODER: &str = "added_tokens_decoder";
const TOKEN: &str = "a string, or an object with the string `content`";

/// Returns whether a tokenizer_config.json leaves added tokens to other files.
fn is_former(keys: &JsonFile) -> bool {
    !keys.json.contains_key(DECODER)
}

impl TokenFiles {
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let read = |name: &str| {
            let mut file = JsonFile::read_if_there(&folder.join(name))?;
            for key in FURTHER {
                file.list_values(key)?;
            }
            Ok::<_, Error>(file)
        };
        let keys = read("tokenizer_config.json")?;
        let is_former = is_former(&keys);
        let read_of_former = |name: &str| {
            if is_former {
                read(name)
            } else {
                Ok(JsonFile { path: folder.join(name), json: Map::new() })
            }
        };
        let map = read_of_former("special_tokens_map.json")?;
        let former = read_of_former("added_tokens.json")?;
        let mut files = Self { keys, map, added: BTreeMap::new() };
        files.added = if is_former { files.of_former(&former)? } else { files.of_decoder()? };
        Ok(files)
    }

    /// Returns the tokens of `added_tokens_decoder`.
    fn of_decoder(&self) -> Result<BTreeMap<u32, AddedToken>, Error> {
        let allowed = "an object of ids, and for each an object with the string `content`";
        self.keys.value(DECODER, None, allowed, |value| {
            let tokens = value.as_object()?.iter().map(|(id, value)| {
                Some((id.parse().ok()?, token(value.as_object()?.clone().into())?))
            });
            tokens.collect()
        })
    }

    /// Returns the tokens of added_tokens.json, where they have no flags.
    fn of_former(&self, file: &JsonFile) -> Result<BTreeMap<u32, AddedToken>, Error> {
        let mut special: Vec<String> =
            self.further()?.into_iter().map(|token| token.content).collect();
        for part in PARTS {
            special
                .extend(self.special(&format!("{part}_token"), None)?.map(|token| token.content));
        }
        let mut added = BTreeMap::new();
        for (content, id) in &file.json {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let id = id.ok_or_else(|| file.refuse(content, "an id, a whole number"))?;
            let is_special = special.contains(content);
            added.insert(id, AddedToken::from(content.as_str(), is_special));
        }
        Ok(added)
    }

    /// Returns a special token; `default` where no file names it, or names null.
    pub(super) fn special(
        &self,
        key: &str,
        default: Option<&str>,
    ) -> Result<Option<AddedToken>, Error> {
        let default = default.map(|content| AddedToken::from(content, true));
        let file = if self.map.json.contains_key(key) { &self.map } else { &self.keys };
        let read = |value: &Value| token(value.clone()).map(Some);
        let named = file.value_or_null(key, None, TOKEN, read)?;
        let Some(mut named) = named.or(default) else { return Ok(None) };
        named.special = true;
        Ok(Some(self.added_as(&named.content).cloned().unwrap_or(named)))
    }

    /// Returns whether a file says that there is no such special token.
    pub(super) fn is_without(&self, key: &str) -> bool {
        let file = if self.map.json.contains_key(key) { &self.map } else { &self.keys };
        file.json.get(key).is_some_and(Value::is_null)
    }

    /// Returns the special tokens that have no part, in the order of their files.
    pub(super) fn further(&self) -> Result<Vec<AddedToken>, Error> {
        let mut all = Vec::new();
        for file in [&self.keys, &self.map] {
            for key in FURTHER {
                let tokens = file.value_or_null(key, Vec::new(), "a list of tokens", |value| {
                    value.as_array()?.iter().map(|value| token(value.clone())).collect()
                })?;
                all.extend(tokens.into_iter().map(|token| AddedToken { special: true, ..token }));
            }
        }
        Ok(all)
    }

    /// Returns the tokens that transformers adds to the tokenizer of a tokenizer.json, or whose flags it changes, in its
    /// order: those with an id, and the special ones that the tokenizer does not add itself. `rows` is the number of
    /// token vectors: a special token with a part, which stands in many files of models that do not have it, is left out
    /// where it would have none.
    pub(super) fn beside(
        &self,
        tokenizer: &Tokenizer,
        rows: usize,
    ) -> Result<Vec<AddedToken>, Error> {
        let of_tokenizer = tokenizer.added_tokens();
        // former files have no flags, and those of the tokenizer hold
        let is_former = is_former(&self.keys);
        let is_same = |id: &u32, token: &AddedToken| {
            of_tokenizer.get(id).is_some_and(|other| is_former || other == token)
        };
        let added = self.added.iter().filter(|(id, token)| !is_same(id, token));
        let mut all: Vec<AddedToken> = added.map(|(_, token)| token.clone()).collect();

        let is_new = |token: &AddedToken| !tokenizer.has(&token.content);
        let new = all.iter().filter(|token| is_new(token)).count();
        let mut room = rows.saturating_sub(tokenizer.vocabulary() + new);
        let tokens = of_tokenizer.values().chain(self.added.values());
        let mut contents: BTreeSet<String> = tokens.map(|token| token.content.clone()).collect();
        for part in PARTS {
            let Some(token) = self.special(&format!("{part}_token"), None)? else { continue };
            if !contents.insert(token.content.clone()) {
                continue;
            }
            if is_new(&token) {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            all.push(token);
        }
        let further = self.further()?.into_iter();
        all.extend(further.filter(|token| contents.insert(token.content.clone())));
        Ok(all)
    }

    fn added_as(&self, content: &str) -> Option<&AddedToken> {
        self.added.values().find(|token| token.content == content)
    }

    /// Adds the tokens to a tokenizer: those with an id, which they must get, special ones of the vocabulary, and further
    /// special ones; errors name `path`.
    pub(super) fn add_to(
        &self,
        inner: &mut tokenizers::Tokenizer,
        special: Vec<AddedToken>,
        path: &Path,
    ) -> Result<(), Error> {
        let library = |e: tokenizers::Error| Error::file(path, e);
        inner.add_tokens(self.added.values().cloned().collect::<Vec<_>>()).map_err(library)?;
        for (id, token) in &self.added {
            if inner.token_to_id(&token.content) != Some(*id) {
                let message = format!(
                    "the added token {:?} is token {id}: the tokens of the vocabulary, and then the added ones one \
                     after the other, unless there is a tokenizer.json",
                    token.content
                );
                return Err(Error::file(path, message));
            }
        }
        let others = special.into_iter().filter(|token| {
            self.added_as(&token.content).is_none() && inner.token_to_id(&token.content).is_some()
        });
        let others: Vec<AddedToken> = others.collect();
        inner.add_tokens(others).map_err(library)?;
        let further = self.further()?.into_iter();
        let further = further.filter(|token| self.added_as(&token.content).is_none());
        inner.add_tokens(further.collect::<Vec<_>>()).map_err(library)?;
        Ok(())
    }
}

/// Returns a token as a file has it.
fn token(value: Value) -> Option<AddedToken> {
    let Value::Object(object) = value else {
        return value.as_str().map(|content| AddedToken::from(content, true));
    };
    let flag = |key: &str, default: bool| match object.get(key) {
        None | Some(Value::Null) => Some(default),
        Some(flag) => flag.as_bool(),
    };
    let special = flag("special", false)?;
    Some(AddedToken {
        content: object.get("content")?.as_str()?.to_owned(),
        single_word: flag("single_word", false)?,
        lstrip: flag("lstrip", false)?,
        rstrip: flag("rstrip", false)?,
        normalized: flag("normalized", !special)?,
        special,
    })
}
