//! Spectra of mzML files (Martens et al. 2011), one element `<spectrum>` at a time.

use std::collections::HashMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::peaks::PROFILE;
use crate::record::{Record, Wrong};

/// Parameters by the id of their group, which spectra refer to: accession, name and value of each.
pub(crate) type ParamGroups = HashMap<String, Vec<[String; 3]>>;

/// The end of a spectrum.
pub(crate) const END: &[u8] = b"</spectrum>";

/// The parts of a spectrum read before its end.
#[derive(Default)]
struct Open {
    record: Record,
    /// The number of its peaks that it states, which an array may state for itself.
    length: Option<usize>,
    has_level: bool,
    profile: bool,
    /// m/z and intensities.
    arrays: [Option<Vec<f64>>; 2],
    /// The array that is being read.
    array: Array,
}

/// An array of numbers before it is decoded.
#[derive(Default)]
struct Array {
    inside: bool,
    /// The number of its values where it states one that is not the spectrum's.
    length: Option<usize>,
    /// The place of its numbers: m/z, or intensities.
    place: Option<usize>,
    single: bool,
    zlib: bool,
    /// The name of an encoding that is not read.
    unknown: Option<String>,
    text: String,
}

/// The most peaks that a spectrum may state, so that a few compressed bytes do not fill the memory.
const MOST_PEAKS: usize = 10_000_000;

/// Returns the spectrum at the end of a text; none for one without an MS level, as of light, and for what follows the
/// last one.
pub(crate) fn mzml(text: &str, groups: &mut ParamGroups) -> Result<Option<Record>, Wrong> {
    if let Some((second, _)) = text.match_indices("<spectrum ").nth(1) {
        let reason = "a second <spectrum> before </spectrum>";
        return Err((line_of(text, second as u64), reason.into()));
    }
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    // elements around a spectrum begin and end in other texts
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    let mut parsed = Parsed { groups, open: None, group: None, ended: false };
    loop {
        let begin = reader.buffer_position();
        let line = || line_of(text, begin);
        let event = reader.read_event();
        let event = event
            .map_err(|error| parsed.wrong(line(), &format!("no XML that can be read: {error}")))?;
        match event {
            Event::Start(tag) | Event::Empty(tag) => {
                parsed.begin(&tag, || line_of(text, reader.buffer_position()));
            }
            Event::Text(content) => parsed.add_text(content.as_ref()),
            Event::End(tag) => parsed.end(tag.name().0, line)?,
            Event::Eof => return parsed.finish(),
            Event::CData(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::DocType(_) | Event::GeneralRef(_) => {}
        }
    }
}

/// What has been read of a text.
struct Parsed<'g> {
    groups: &'g mut ParamGroups,
    /// The spectrum, from its first element on.
    open: Option<Open>,
    /// The id of the group of parameters that is being read.
    group: Option<String>,
    /// Whether the end of the spectrum has been read.
    ended: bool,
}

impl Parsed<'_> {
    /// Returns what is wrong in a line, with the title of the spectrum where one has begun.
    fn wrong(&self, line: usize, reason: &str) -> Wrong {
        match &self.open {
            Some(open) => open.record.wrong(line, reason),
            None => (line, reason.to_owned()),
        }
    }

    /// Reads the beginning of an element, or an empty one, which ends in the given line.
    fn begin(&mut self, tag: &BytesStart, line: impl Fn() -> usize) {
        let value = |key: &str| attribute(tag, key);
        match (tag.name().0, &mut self.open) {
            ("spectrum", None) => {
                let length = value("defaultArrayLength");
                let mut opened = Open { length: length.parse().ok(), ..Open::default() };
                opened.record.start = line();
                opened.record.add("identifier", &value("id"));
                self.open = Some(opened);
            }
            ("referenceableParamGroup", None) => self.group = Some(value("id")),
            ("referenceableParamGroupRef", Some(open)) => {
                let params = self.groups.get(&value("ref")).into_iter().flatten();
                for [accession, name, value] in params {
                    open.param(accession, name, value);
                }
            }
            ("binaryDataArray", Some(open)) => {
                let length = value("arrayLength").parse().ok();
                open.array = Array { inside: true, length, ..Array::default() };
            }
            ("cvParam" | "userParam", open) => {
                let param = ["accession", "name", "value"].map(value);
                match (open, &self.group) {
                    (Some(open), _) => open.param(&param[0], &param[1], &param[2]),
                    (None, Some(id)) => self.groups.entry(id.clone()).or_default().push(param),
                    (None, None) => {}
                }
            }
            _ => {}
        }
    }

    /// Keeps a text that is a part of an array of numbers.
    fn add_text(&mut self, text: &str) {
        if let Some(open) = self.open.as_mut().filter(|open| open.array.inside) {
            open.array.text.extend(text.split_ascii_whitespace());
        }
    }

    /// Reads the end of an element, in the given line.
    fn end(&mut self, name: &str, line: impl Fn() -> usize) -> Result<(), Wrong> {
        match (name, &mut self.open) {
            ("referenceableParamGroup", _) => self.group = None,
            ("binaryDataArray", Some(open)) if open.is_tandem() => {
                open.decode().map_err(|reason| open.record.wrong(line(), &reason))?;
            }
            ("spectrum", Some(_)) => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    /// Returns the spectrum, once the text ends.
    fn finish(self) -> Result<Option<Record>, Wrong> {
        match self.open {
            Some(open) if !self.ended => {
                Err(open.record.wrong(open.record.start, "no </spectrum>"))
            }
            Some(open) => open.finish(),
            None => Ok(None),
        }
    }
}

/// Returns the line of a byte of a text, from 0.
fn line_of(text: &str, position: u64) -> usize {
    text.as_bytes()[..position as usize].iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the value of an attribute; an empty text where there is none.
fn attribute(tag: &BytesStart, key: &str) -> String {
    let attribute_value = tag.try_get_attribute(key).ok().flatten();
    let value = attribute_value.and_then(|attribute_text| {
        Some(attribute_text.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
    });
    value.unwrap_or_default()
}

impl Open {
    /// Takes a parameter by its accession in PSI-MS, and others as fields by their name.
    fn param(&mut self, accession: &str, name: &str, value: &str) {
        let array = &mut self.array;
        match accession {
            "MS:1000514" => array.place = Some(0),
            "MS:1000515" => array.place = Some(1),
            "MS:1000521" => array.single = true,
            "MS:1000523" | "MS:1000576" => {}
            "MS:1000574" => array.zlib = true,
            _ if array.inside => {
                // compressions and types of numbers; units and other names say nothing of the bytes
                let encodings =
                    ["MS:1000519", "MS:1000522", "MS:1002312", "MS:1002313", "MS:1002314"];
                let encoded = encodings.contains(&accession) || name.contains("compression");
                if encoded {
                    array.unknown = Some(name.to_owned());
                }
            }
            "MS:1000511" => {
                self.has_level = true;
                self.record.add("ms_level", value);
            }
            "MS:1000128" => self.profile = true,
            // the ion that was selected comes before the window around it; 0 is no ion
            "MS:1000744" if value.trim().parse::<f64>() == Ok(0.0) => {}
            "MS:1000744" => self.record.add("precursor_mz", value),
            "MS:1000827" => self.record.add("isolation_mz", value),
            "MS:1000041" => self.record.add("charge", value),
            "MS:1000045" => self.record.add("collision_energy", value),
            "MS:1000129" => self.record.add("ion_mode", "negative"),
            "MS:1000130" => self.record.add("ion_mode", "positive"),
            _ if value.is_empty() => {}
            _ => self.record.add(name, value),
        }
    }

    /// Returns whether the parameters so far describe a tandem spectrum.
    fn is_tandem(&self) -> bool {
        self.has_level && self.record.is_tandem()
    }

    /// Decodes the array that ends.
    fn decode(&mut self) -> Result<(), String> {
        let array = std::mem::take(&mut self.array);
        let Array { length, place, single, zlib, unknown, text, .. } = array;
        let Some(place) = place else { return Ok(()) };
        if let Some(name) = unknown {
            return Err(format!("an array with {name}; 32 or 64 bits, plain or zlib, are read"));
        }
        let attribute = if length.is_some() { "arrayLength" } else { "defaultArrayLength" };
        let Some(length) = length.or(self.length) else {
            return Err("no defaultArrayLength".into());
        };
        if length > MOST_PEAKS {
            return Err(format!(
                "{length} peaks by its {attribute}: at most {MOST_PEAKS} peaks are read"
            ));
        }
        let width = if single { 4 } else { 8 };
        let mut bytes = STANDARD.decode(text).map_err(|error| format!("an array: {error}"))?;
        if zlib {
            bytes = decompressed(&bytes, length * width, attribute)?;
        }
        let numbers: Vec<f64> = if single {
            bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number).into()).collect()
        } else {
            bytes.as_chunks().0.iter().map(|number| f64::from_le_bytes(*number)).collect()
        };
        if bytes.len() != length * width {
            let names = ["m/z", "intensities"];
            let count = bytes.len() as f64 / width as f64;
            let name = names[place];
            return Err(format!("{count} {name}; its {attribute} states {length}"));
        }
        self.arrays[place] = Some(numbers);
        Ok(())
    }

    /// Returns the record of a spectrum.
    fn finish(self) -> Result<Option<Record>, Wrong> {
        if !self.is_tandem() {
            return Ok(None);
        }
        let Self { mut record, profile, arrays: [mzs, intensities], .. } = self;
        let start = record.start;
        if profile {
            return Err(record.wrong(start, PROFILE));
        }
        let mzs = mzs.unwrap_or_default();
        let intensities = intensities.unwrap_or_default();
        if mzs.len() != intensities.len() {
            let mzs = mzs.len();
            let intensities = intensities.len();
            let reason = format!("{mzs} m/z and {intensities} intensities; each peak needs both");
            return Err(record.wrong(start, &reason));
        }
        for (mz, intensity) in mzs.iter().zip(&intensities) {
            let added = record.add_peak(&mz.to_string(), &intensity.to_string());
            added.map_err(|reason| record.wrong(start, &reason))?;
        }
        Ok(Some(record))
    }
}

/// Returns the bytes of a compressed array, which must be as many as an attribute states.
fn decompressed(bytes: &[u8], expected: usize, attribute: &str) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    // one byte more says that there are more
    let mut reader = ZlibDecoder::new(bytes).take(expected as u64 + 1);
    let read = reader.read_to_end(&mut plain);
    read.map_err(|error| format!("an array that zlib does not read: {error}"))?;
    if plain.len() > expected {
        return Err(format!(
            "a compressed array of more than the {expected} bytes that its {attribute} states"
        ));
    }
    Ok(plain)
}
