//! Takes descriptions apart into what they say.

use std::collections::BTreeSet;

/// What was said of a molecule over all seeds, in the terms of a `Case`.
#[derive(Default)]
pub struct Said {
    pub counts: BTreeSet<String>,
    pub adjectives: BTreeSet<String>,
    pub items: BTreeSet<String>,
    pub pattern: BTreeSet<String>,
    pub carries: BTreeSet<String>,
    pub sentences: BTreeSet<String>,
    /// Plurals that came with `several` and the like.
    pub vague: BTreeSet<String>,
    /// Rings that a sentence on substituents is about.
    pub rings: BTreeSet<String>,
}

impl Said {
    pub fn hear(&mut self, description: &str) {
        let text = description.strip_suffix('.').unwrap();
        let mut sentences = text.split(". ");
        self.opening(sentences.next().unwrap());
        for sentence in sentences {
            self.sentence(sentence);
        }
    }

    fn opening(&mut self, sentence: &str) {
        let mut kind = sentence;
        for (before, unit) in [
            (" with ", "heavy atoms"),
            (" has ", "carbon atoms"),
            (" built on ", "carbons"),
            (" consists of ", "non-hydrogen atoms"),
        ] {
            if let Some((head, tail)) = sentence.split_once(before) {
                assert!(tail.ends_with(unit), "{sentence}");
                self.counts.insert(tail.to_owned());
                kind = head;
            }
        }
        let starts =
            ["This is a ", "This is an ", "Here is a ", "Here is an ", "The ", "A ", "An "];
        let kind = starts.iter().find_map(|s| kind.strip_prefix(s)).expect(sentence);
        let nouns = ["molecule", "compound", "substance", "structure"];
        let adjectives = nouns.iter().find_map(|n| kind.strip_suffix(n)).expect(sentence).trim();
        let sizes = ["small", "medium-sized", "large"];
        let size = sizes.into_iter().find(|s| adjectives.starts_with(s)).unwrap_or("");
        for adjective in [size, adjectives[size.len()..].trim()] {
            if !adjective.is_empty() {
                self.adjectives.insert(adjective.to_owned());
            }
        }
    }

    fn sentence(&mut self, sentence: &str) {
        for verb in [" carries ", " bears ", " is substituted with ", " is decorated with "] {
            if let Some((ring, groups)) = sentence.split_once(verb)
                && let Some(ring) = ring.strip_prefix("The ")
            {
                self.rings.insert(ring.to_owned());
                for group in split(groups) {
                    let group = self.count(group);
                    self.carries.extend(group);
                }
                return;
            }
        }
        if sentence.contains("substituted") {
            let starts = ["The ", "It has a ", "It has an ", "There is a ", "There is an "];
            let rest = starts.iter().rev().find_map(|s| sentence.strip_prefix(s)).expect(sentence);
            let (ring, pattern) = match rest.split_once(" is ") {
                Some((ring, pattern)) => (ring, pattern),
                None => rest.split_once(' ').map(|(pattern, ring)| (ring, pattern)).unwrap(),
            };
            self.rings.insert(ring.to_owned());
            self.pattern.insert(pattern.to_owned());
            return;
        }
        if sentence.ends_with("methyl group") || sentence.ends_with("methyl groups") {
            for start in ["It carries ", "In all it has ", "One counts "] {
                if let Some(count) = sentence.strip_prefix(start) {
                    self.sentences.insert(count.to_owned());
                    return;
                }
            }
        }
        let starts = [
            "It contains ",
            "The structure features ",
            "One finds ",
            "It has ",
            "It includes ",
            "Among its features is ",
            "Among its features are ",
        ];
        let ends = [" is present", " are present"];
        let list = starts.iter().find_map(|s| sentence.strip_prefix(s));
        let list = list.or_else(|| ends.iter().find_map(|e| sentence.strip_suffix(e)));
        match list {
            Some(list) if !list.starts_with("neither ") => {
                for item in split(list) {
                    let item = self.count(item);
                    self.items.extend(item);
                }
            }
            _ => {
                self.sentences.insert(format!("{sentence}."));
            }
        }
    }

    /// The item with its count as a number; none if the count is vague.
    fn count(&mut self, item: &str) -> Option<String> {
        let item = item[..1].to_lowercase() + &item[1..];
        for vague in ["several ", "multiple ", "a number of "] {
            if let Some(noun) = item.strip_prefix(vague) {
                self.vague.insert(noun.to_owned());
                return None;
            }
        }
        for (words, number) in
            [("a single ", "one"), ("a pair of ", "two"), ("a ", "one"), ("an ", "one")]
        {
            if let Some(noun) = item.strip_prefix(words) {
                return Some(format!("{number} {noun}"));
            }
        }
        Some(item)
    }
}

fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(", ").flat_map(|part| part.split(" and "))
}
