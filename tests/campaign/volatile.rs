//! A model of files of which a crash leaves what was synced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use dsokr::core::random::{Generator, unit};

use crate::runs::below;

/// A change of a file or a folder, by its path in the folder of all.
#[derive(Clone, Debug)]
pub enum Change {
    /// A file is created, unless it exists; then its content is removed if `cut` says so.
    Open {
        file: PathBuf,
        cut: bool,
    },
    Write {
        file: PathBuf,
        at: usize,
        bytes: Vec<u8>,
    },
    Cut {
        file: PathBuf,
        length: usize,
    },
    Folder(PathBuf),
    Remove(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// A file or a folder is synced.
    Sync(PathBuf),
}

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Nothing: files have the content and folders the names of their last sync.
    All,
    /// All names, without the contents of files.
    Contents,
    /// Of each folder some first changes of its names, of each file a part of what was written.
    Some,
}

/// Files and folders by number; 0 is the folder in which everything lies.
pub struct Volatile {
    nodes: Vec<Node>,
}

enum Node {
    File {
        now: Vec<u8>,
        synced: Vec<u8>,
    },
    Folder {
        now: BTreeMap<String, usize>,
        synced: BTreeMap<String, usize>,
        /// Since the last sync: a name that goes, and one that comes.
        changes: Vec<(Option<String>, Option<(String, usize)>)>,
    },
}

impl Node {
    fn file() -> Self {
        Self::File { now: Vec::new(), synced: Vec::new() }
    }

    fn folder() -> Self {
        Self::Folder { now: BTreeMap::new(), synced: BTreeMap::new(), changes: Vec::new() }
    }
}

impl Volatile {
    pub fn new() -> Self {
        Self { nodes: vec![Node::folder()] }
    }

    /// Makes a change. An error for one after which a crash leaves a file of its final name without its
    /// content.
    pub fn apply(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::Open { file, cut } => {
                let at = match self.find(file) {
                    Some(at) => at,
                    None => self.add(file, Node::file())?,
                };
                if *cut {
                    self.in_place(file)?;
                    self.content(at, file)?.clear();
                }
            }
            Change::Write { file, at, bytes } => {
                self.in_place(file)?;
                let node = self.known(file)?;
                let content = self.content(node, file)?;
                content.resize(content.len().max(at + bytes.len()), 0);
                content[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Change::Cut { file, length } => {
                self.in_place(file)?;
                let node = self.known(file)?;
                self.content(node, file)?.resize(*length, 0);
            }
            Change::Folder(folder) => {
                self.add(folder, Node::folder())?;
            }
            Change::Remove(path) => {
                let (folder, name) = self.place(path)?;
                self.entry(folder, Some(name), None)?;
            }
            Change::Rename { from, to } => {
                let node = self.known(from)?;
                self.whole(node, from)?;
                let (old, name) = self.place(from)?;
                let (new, new_name) = self.place(to)?;
                if old != new {
                    return Err(format!("{from:?} is renamed into the other folder of {to:?}"));
                }
                self.entry(old, Some(name), Some((new_name, node)))?;
            }
            Change::Sync(path) => {
                let node = self.known(path)?;
                match &mut self.nodes[node] {
                    Node::File { now, synced } => synced.clone_from(now),
                    Node::Folder { now, synced, changes } => {
                        synced.clone_from(now);
                        changes.clear();
                    }
                }
            }
        }
        Ok(())
    }

    /// An error if anything was not synced, apart from files that may be lost.
    pub fn check(&self) -> Result<(), String> {
        self.whole(0, Path::new("."))
    }

    /// Writes what a crash leaves at this moment into a folder.
    pub fn crash(&self, loss: Loss, random: &mut Generator, to: &Path) {
        self.write(0, loss, random, to);
    }

    fn write(&self, node: usize, loss: Loss, random: &mut Generator, to: &Path) {
        match &self.nodes[node] {
            Node::File { now, synced } => {
                let left = match loss {
                    Loss::All | Loss::Contents => synced.clone(),
                    Loss::Some if unit(random) < 0.5 => synced.clone(),
                    Loss::Some => now[..below(random, now.len() + 1)].to_vec(),
                };
                // what was synced and is not changed is whole
                let left = if now == synced { now.clone() } else { left };
                fs::write(to, left).unwrap();
            }
            Node::Folder { now, synced, changes } => {
                fs::create_dir_all(to).unwrap();
                let left = match loss {
                    Loss::All => synced.clone(),
                    Loss::Contents => now.clone(),
                    Loss::Some => {
                        let mut left = synced.clone();
                        for (gone, come) in &changes[..below(random, changes.len() + 1)] {
                            gone.as_ref().and_then(|name| left.remove(name));
                            left.extend(come.clone());
                        }
                        left
                    }
                };
                for (name, node) in left {
                    self.write(node, loss, random, &to.join(name));
                }
            }
        }
    }

    /// An error if a file, or anything below a folder, was not synced.
    fn whole(&self, node: usize, path: &Path) -> Result<(), String> {
        if may_be_lost(path) {
            return Ok(());
        }
        match &self.nodes[node] {
            Node::File { now, synced } if now != synced => {
                Err(format!("{} is not synced", path.display()))
            }
            Node::File { .. } => Ok(()),
            Node::Folder { now, synced, .. } => {
                let lost = |a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>| {
                    let lost = a.iter().find(|(name, node)| {
                        b.get(*name) != Some(node) && !may_be_lost(Path::new(name))
                    });
                    lost.map(|(name, _)| path.join(name).display().to_string())
                };
                if let Some(name) = lost(now, synced).or_else(|| lost(synced, now)) {
                    return Err(format!("the folder that names {name} is not synced"));
                }
                now.iter().try_for_each(|(name, &node)| self.whole(node, &path.join(name)))
            }
        }
    }

    /// An error unless a file has a temporary name, or lines are appended to it, or it may be lost.
    fn in_place(&self, path: &Path) -> Result<(), String> {
        let temporary = path.to_string_lossy().ends_with(".partial");
        let appended = path.file_name().is_some_and(|name| name == "log.jsonl");
        if temporary || appended || may_be_lost(path) {
            Ok(())
        } else {
            Err(format!("{} is written in place", path.display()))
        }
    }

    fn content(&mut self, node: usize, path: &Path) -> Result<&mut Vec<u8>, String> {
        match &mut self.nodes[node] {
            Node::File { now, .. } => Ok(now),
            Node::Folder { .. } => Err(format!("{path:?} is a folder")),
        }
    }

    fn add(&mut self, path: &Path, node: Node) -> Result<usize, String> {
        let (folder, name) = self.place(path)?;
        self.nodes.push(node);
        let node = self.nodes.len() - 1;
        self.entry(folder, None, Some((name, node)))?;
        Ok(node)
    }

    /// Changes the names of a folder.
    fn entry(
        &mut self,
        folder: usize,
        gone: Option<String>,
        come: Option<(String, usize)>,
    ) -> Result<(), String> {
        let Node::Folder { now, changes, .. } = &mut self.nodes[folder] else {
            return Err("a file in the place of a folder".into());
        };
        gone.as_ref().and_then(|name| now.remove(name));
        now.extend(come.clone());
        changes.push((gone, come));
        Ok(())
    }

    /// The folder of a path, and the name in it.
    fn place(&self, path: &Path) -> Result<(usize, String), String> {
        let folder = self.known(path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().ok_or_else(|| format!("{path:?} has no name"))?;
        Ok((folder, name.to_string_lossy().into_owned()))
    }

    fn known(&self, path: &Path) -> Result<usize, String> {
        self.find(path).ok_or_else(|| format!("{path:?} is not known to the record"))
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        names.into_iter().try_fold(0, |node, name| match &self.nodes[node] {
            Node::Folder { now, .. } => now.get(name.as_os_str().to_str()?).copied(),
            Node::File { .. } => None,
        })
    }
}

/// Files from which nothing is computed: locks, and the scalars for TensorBoard.
fn may_be_lost(path: &Path) -> bool {
    let path = path.to_string_lossy();
    path.ends_with(".lock") || path.contains("tensorboard")
}
