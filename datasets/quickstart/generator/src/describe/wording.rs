//! Words: what groups, numbers and ring systems are called.

use dsokr_molecule::FunctionalGroup as G;

use crate::draw::Draw;

/// Ways to name a functional group, as (singular, plural).
pub(super) fn names(group: G) -> &'static [(&'static str, &'static str)] {
    match group {
        G::CarboxylicAcid => &[
            ("carboxylic acid", "carboxylic acids"),
            ("carboxy group", "carboxy groups"),
            ("carboxylic acid group", "carboxylic acid groups"),
        ],
        G::Carboxylate => &[
            ("carboxylate", "carboxylates"),
            ("carboxylate anion", "carboxylate anions"),
            ("deprotonated acid group", "deprotonated acid groups"),
        ],
        G::Ester => &[
            ("ester", "esters"),
            ("ester linkage", "ester linkages"),
            ("carboxylic ester", "carboxylic esters"),
        ],
        G::Lactone => &[("lactone", "lactones"), ("cyclic ester", "cyclic esters")],
        G::Anhydride => &[("acid anhydride", "acid anhydrides")],
        G::Carbonate => &[("carbonate ester", "carbonate esters")],
        G::Carbamate => &[("carbamate", "carbamates"), ("urethane group", "urethane groups")],
        G::Thiocarbamate => &[("thiocarbamate", "thiocarbamates")],
        G::Amide => &[
            ("amide", "amides"),
            ("amide bond", "amide bonds"),
            ("carboxamide group", "carboxamide groups"),
        ],
        G::Lactam => &[("lactam", "lactams"), ("cyclic amide", "cyclic amides")],
        G::Imide => &[("imide", "imides")],
        G::Urea => &[("urea unit", "urea units"), ("urea group", "urea groups")],
        G::Thioester => &[("thioester", "thioesters")],
        G::AcylHalide => &[("acyl halide", "acyl halides")],
        G::Aldehyde => &[("aldehyde", "aldehydes"), ("formyl group", "formyl groups")],
        G::Ketone => &[
            ("ketone", "ketones"),
            ("keto group", "keto groups"),
            ("ketone carbonyl", "ketone carbonyls"),
        ],
        G::RingOxo => &[
            ("carbonyl on an aromatic ring", "carbonyls on aromatic rings"),
            ("ring oxo group", "ring oxo groups"),
        ],
        G::Thiocarbonyl => &[
            ("thiocarbonyl", "thiocarbonyls"),
            ("carbon-sulfur double bond", "carbon-sulfur double bonds"),
        ],
        G::PrimaryAlcohol => &[
            ("primary alcohol", "primary alcohols"),
            ("primary hydroxyl", "primary hydroxyls"),
            ("primary hydroxy group", "primary hydroxy groups"),
        ],
        G::SecondaryAlcohol => &[
            ("secondary alcohol", "secondary alcohols"),
            ("secondary hydroxyl", "secondary hydroxyls"),
            ("secondary hydroxy group", "secondary hydroxy groups"),
        ],
        G::TertiaryAlcohol => &[
            ("tertiary alcohol", "tertiary alcohols"),
            ("tertiary hydroxyl", "tertiary hydroxyls"),
        ],
        G::Hemiacetal => {
            &[("hemiacetal", "hemiacetals"), ("hemiacetal group", "hemiacetal groups")]
        }
        G::Phenol => &[
            ("phenol", "phenols"),
            ("phenolic hydroxyl", "phenolic hydroxyls"),
            ("hydroxy group on an aromatic ring", "hydroxy groups on aromatic rings"),
        ],
        G::Enol => &[("enol", "enols")],
        G::Ether => &[
            ("ether", "ethers"),
            ("ether oxygen", "ether oxygens"),
            ("ether linkage", "ether linkages"),
        ],
        G::Epoxide => &[("epoxide", "epoxides")],
        G::Peroxide => &[("peroxide bond", "peroxide bonds")],
        G::Alkoxide => {
            &[("negatively charged oxygen on carbon", "negatively charged oxygens on carbon")]
        }
        G::PrimaryAmine => {
            &[("primary amine", "primary amines"), ("free amino group", "free amino groups")]
        }
        G::SecondaryAmine => &[
            ("secondary amine", "secondary amines"),
            ("secondary amino group", "secondary amino groups"),
        ],
        G::TertiaryAmine => &[
            ("tertiary amine", "tertiary amines"),
            ("tertiary amino group", "tertiary amino groups"),
        ],
        G::AromaticAmine => &[
            ("aromatic amine", "aromatic amines"),
            ("aniline-type nitrogen", "aniline-type nitrogens"),
            ("amino group on an aromatic ring", "amino groups on aromatic rings"),
        ],
        G::Ammonium => {
            &[("ammonium group", "ammonium groups"), ("protonated amine", "protonated amines")]
        }
        G::QuaternaryAmmonium => &[
            ("quaternary ammonium group", "quaternary ammonium groups"),
            ("quaternary nitrogen", "quaternary nitrogens"),
        ],
        G::Imine => {
            &[("imine", "imines"), ("carbon-nitrogen double bond", "carbon-nitrogen double bonds")]
        }
        G::Oxime => &[("oxime", "oximes")],
        G::Amidine => &[("amidine", "amidines")],
        G::Guanidine => &[("guanidine", "guanidines"), ("guanidino group", "guanidino groups")],
        G::Hydrazine => &[
            ("nitrogen-nitrogen single bond", "nitrogen-nitrogen single bonds"),
            ("hydrazine unit", "hydrazine units"),
        ],
        G::Hydroxylamine => &[("nitrogen-oxygen single bond", "nitrogen-oxygen single bonds")],
        G::Nitro => &[("nitro group", "nitro groups"), ("nitro substituent", "nitro substituents")],
        G::Nitroso => &[("nitroso group", "nitroso groups")],
        G::Nitrile => &[("nitrile", "nitriles"), ("cyano group", "cyano groups")],
        G::Azide => &[("azide", "azides")],
        G::Azo => &[("azo bridge", "azo bridges"), ("azo group", "azo groups")],
        G::NOxide => &[("N-oxide", "N-oxides")],
        G::Thiol => &[("thiol", "thiols"), ("sulfanyl group", "sulfanyl groups")],
        G::Sulfide => &[
            ("thioether", "thioethers"),
            ("sulfide", "sulfides"),
            ("sulfide bridge", "sulfide bridges"),
        ],
        G::Disulfide => &[("disulfide", "disulfides"), ("disulfide bridge", "disulfide bridges")],
        G::Sulfoxide => &[("sulfoxide", "sulfoxides")],
        G::Sulfone => &[("sulfone", "sulfones")],
        G::SulfonicAcid => &[("sulfonic acid", "sulfonic acids"), ("sulfo group", "sulfo groups")],
        G::Sulfonate => &[("sulfonate", "sulfonates"), ("sulfonate group", "sulfonate groups")],
        G::Sulfonamide => &[("sulfonamide", "sulfonamides")],
        G::Sulfate => &[("sulfate group", "sulfate groups"), ("sulfate", "sulfates")],
        G::Phosphate => &[
            ("phosphate group", "phosphate groups"),
            ("phosphate", "phosphates"),
            ("phosphate unit", "phosphate units"),
        ],
        G::Phosphonate => &[("phosphonate", "phosphonates")],
        G::Alkene => &[
            ("carbon-carbon double bond", "carbon-carbon double bonds"),
            ("alkene", "alkenes"),
            ("olefinic bond", "olefinic bonds"),
        ],
        G::Alkyne => {
            &[("carbon-carbon triple bond", "carbon-carbon triple bonds"), ("alkyne", "alkynes")]
        }
        G::Fluoro => &[("fluorine", "fluorines"), ("fluorine atom", "fluorine atoms")],
        G::Chloro => &[
            ("chlorine", "chlorines"),
            ("chlorine atom", "chlorine atoms"),
            ("chloro substituent", "chloro substituents"),
        ],
        G::Bromo => &[("bromine", "bromines"), ("bromine atom", "bromine atoms")],
        G::Iodo => &[("iodine", "iodines"), ("iodine atom", "iodine atoms")],
        G::Methoxy => &[("methoxy group", "methoxy groups"), ("O-methyl group", "O-methyl groups")],
        G::Trifluoromethyl => &[("trifluoromethyl group", "trifluoromethyl groups")],
    }
}

/// A number in words, up to ninety-nine; in digits beyond.
pub(super) fn number(n: usize) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] =
        ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    match n {
        0..=19 => SMALL[n].to_owned(),
        20..=99 if n.is_multiple_of(10) => TENS[n / 10].to_owned(),
        20..=99 => format!("{}-{}", TENS[n / 10], SMALL[n % 10]),
        _ => n.to_string(),
    }
}

/// `a` or `an`, by the sound that our words start with.
pub(super) fn article(word: &str) -> &'static str {
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O'])
        || word.starts_with("N-")
        || (word.starts_with('u')
            && !word.starts_with("ura")
            && !word.starts_with("ure")
            && !word.starts_with("uni"));
    // `one-carbon` sounds like a w, `eight…` and `eleven…` like the vowels that they are.
    if vowel && !word.starts_with("one-") { "an" } else { "a" }
}

/// `a phenol`, `two phenols`, `several phenols`.
pub(super) fn counted(draw: &mut Draw, count: usize, singular: &str, plural: &str) -> String {
    match count {
        0 => format!("no {singular}"),
        1 if draw.chance(25) => format!("{} {singular}", draw.pick(&["one", "a single"])),
        1 => format!("{} {singular}", article(singular)),
        2 if draw.chance(20) => format!("a pair of {plural}"),
        3.. if draw.chance(8) => {
            format!("{} {plural}", draw.pick(&["several", "multiple", "a number of"]))
        }
        _ => format!("{} {plural}", number(count)),
    }
}

/// `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}
