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
    /// The number of its peaks that it states.
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
    (config.check_end_names, config.allow_unmatched_ends) = (false, true);
    let mut open: Option<Open> = None;
    let mut group: Option<String> = None;
    let mut ended = false;
    loop {
        let position = reader.buffer_position();
        let at = || line_of(text, position);
        let title = |open: &Option<Open>, reason: &str| match open {
            Some(open) => open.record.wrong(at(), reason),
            None => (at(), reason.to_owned()),
        };
        let event = reader.read_event();
        match event.map_err(|error| title(&open, &format!("no XML that can be read: {error}")))? {
            Event::Start(tag) | Event::Empty(tag) => {
                let value = |key: &str| attribute(&tag, key);
                match (tag.name().0, &mut open) {
                    ("spectrum", None) => {
                        let length = value("defaultArrayLength");
                        let mut opened = Open { length: length.parse().ok(), ..Open::default() };
                        opened.record.start = line_of(text, reader.buffer_position());
                        opened.record.add("identifier", &value("id"));
                        open = Some(opened);
                    }
                    ("referenceableParamGroup", None) => group = Some(value("id")),
                    ("referenceableParamGroupRef", Some(current)) => {
                        for [accession, name, value] in
                            groups.get(&value("ref")).into_iter().flatten()
                        {
                            current.param(accession, name, value);
                        }
                    }
                    ("binaryDataArray", Some(current)) => {
                        current.array = Array { inside: true, ..Array::default() };
                    }
                    ("cvParam" | "userParam", current) => {
                        let param = ["accession", "name", "value"].map(value);
                        match (current, &group) {
                            (Some(current), _) => current.param(&param[0], &param[1], &param[2]),
                            (None, Some(id)) => groups.entry(id.clone()).or_default().push(param),
                            (None, None) => {}
                        }
                    }
                    _ => {}
                }
            }
            Event::Text(content) => {
                if let Some(open) = open.as_mut().filter(|open| open.array.inside) {
                    open.array.text.extend(content.as_ref().split_ascii_whitespace());
                }
            }
            Event::End(tag) => match (tag.name().0, &mut open) {
                ("referenceableParamGroup", _) => group = None,
                ("binaryDataArray", Some(open)) if open.is_tandem() => {
                    open.decode().map_err(|reason| open.record.wrong(at(), &reason))?;
                }
                ("spectrum", Some(_)) => ended = true,
                _ => {}
            },
            Event::Eof => break,
            Event::CData(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::DocType(_) | Event::GeneralRef(_) => {}
        }
    }
    match open {
        Some(open) if !ended => Err(open.record.wrong(open.record.start, "no </spectrum>")),
        Some(open) => open.finish(),
        None => Ok(None),
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
            // the ion that was selected comes before the window around it
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
        let Array { place, single, zlib, unknown, text, .. } = std::mem::take(&mut self.array);
        let Some(place) = place else { return Ok(()) };
        if let Some(name) = unknown {
            return Err(format!("an array with {name}; 32 or 64 bits, plain or zlib, are read"));
        }
        let Some(length) = self.length.filter(|length| *length <= MOST_PEAKS) else {
            let most = format!("defaultArrayLength: at most {MOST_PEAKS} peaks are read");
            return Err(self.length.map_or("no defaultArrayLength".into(), |length| {
                format!("{length} peaks by its {most}")
            }));
        };
        let width = if single { 4 } else { 8 };
        let mut bytes = STANDARD.decode(text).map_err(|error| format!("an array: {error}"))?;
        if zlib {
            bytes = decompressed(&bytes, length * width)?;
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
            return Err(format!("{count} {name}; its defaultArrayLength states {length}"));
        }
        self.arrays[place] = Some(numbers);
        Ok(())
    }

    /// Returns the record of a spectrum.
    fn finish(self) -> Result<Option<Record>, Wrong> {
        if !self.is_tandem() {
            return Ok(None);
        }
        let Self { mut record, length, profile, arrays: [mzs, intensities], .. } = self;
        let start = record.start;
        if profile {
            return Err(record.wrong(start, PROFILE));
        }
        let mzs = mzs.unwrap_or_default();
        let intensities = intensities.unwrap_or_default();
        let expected = length.unwrap_or(mzs.len());
        if (mzs.len(), intensities.len()) != (expected, expected) {
            let mzs = mzs.len();
            let intensities = intensities.len();
            let reason = format!("{mzs} m/z and {intensities} intensities; it states {expected}");
            return Err(record.wrong(start, &reason));
        }
        for (mz, intensity) in mzs.iter().zip(&intensities) {
            let added = record.add_peak(&mz.to_string(), &intensity.to_string());
            added.map_err(|reason| record.wrong(start, &reason))?;
        }
        Ok(Some(record))
    }
}

/// Returns the bytes of a compressed array, which must be so many.
fn decompressed(bytes: &[u8], expected: usize) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    // one byte more says that there are more
    let mut reader = ZlibDecoder::new(bytes).take(expected as u64 + 1);
    let read = reader.read_to_end(&mut plain);
    read.map_err(|error| format!("an array that zlib does not read: {error}"))?;
    if plain.len() > expected {
        return Err(format!(
            "a compressed array of more than the {expected} bytes that its defaultArrayLength states"
        ));
    }
    Ok(plain)
}
