//! The places of molecules that are not candidates, under each member.

use std::sync::OnceLock;

use dsokr_decode::Candidates;
use dsokr_molecule::Molecule;

use super::Member;
use crate::decoding::beyond::Placer;
use crate::decoding::decoder::Decoder;
use crate::error::Error;
use crate::targets::OutputSpace;

/// How each member places molecules that are not candidates; read when they are first needed.
#[derive(Default)]
pub(super) struct Placement(OnceLock<Vec<MemberPlacement>>);

/// How a member places molecules.
pub(super) struct MemberPlacement {
    placer: Placer,
    /// The space of the outputs, where the member has not read it itself.
    space: Option<OutputSpace>,
}

impl MemberPlacement {
    fn open(member: &Member) -> Result<Self, Error> {
        member.config.output.source().check_made()?;
        let folder = member.stored()?;
        let placer = Placer::open(folder, &member.candidates)?;
        let space = match member.space {
            Some(_) => None,
            None => OutputSpace::load(folder, &member.config)?,
        };
        Ok(Self { placer, space })
    }

    /// Places molecules among the candidates of the member.
    pub fn place(
        &self,
        member: &Member,
        smiles: Vec<String>,
        molecules: Vec<Molecule>,
    ) -> Result<Candidates, Error> {
        let space = member.space.as_ref().or(self.space.as_ref());
        let decoder = Decoder { space, ..member.decoder() };
        Ok(self.placer.place(&decoder.searched()?, smiles, molecules)?.0)
    }
}

impl Placement {
    pub fn read(&self, members: &[Member]) -> Result<&[MemberPlacement], Error> {
        if let Some(placement) = self.0.get() {
            return Ok(placement);
        }
        let read = members.iter().map(MemberPlacement::open).collect::<Result<_, Error>>()?;
        Ok(self.0.get_or_init(|| read))
    }
}
