//! The contract of recipes, which notices mistakes.

use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrong {
    mistake: Mistake,
    /// The file of the preparation.
    file: String,
    #[serde(skip)]
    forgotten: usize,
}

/// The letters of the training texts, and the file that holds them.
struct Letters(Wrong, Vec<char>);

impl Prepare for Letters {
    type Settings = Wrong;
    type Input = TokenIds;

    fn fit(settings: &Wrong, train: &Split) -> Result<Self, Error> {
        let mut letters: Vec<char> =
            train.inputs.texts()?.iter().flat_map(|text| text.chars()).collect();
        letters.sort_unstable();
        letters.dedup();
        Ok(Self(settings.clone(), letters))
    }

    fn inputs(&self, split: &Split) -> Result<Vec<TokenIds>, Error> {
        let place = |letter| self.1.iter().position(|c| *c == letter).map(|place| place as u32);
        let input = |text: &String| text.chars().filter_map(place).collect::<Vec<u32>>().into();
        let skipped = usize::from(self.0.mistake == Mistake::DropsAnInput);
        Ok(split.inputs.texts()?.iter().skip(skipped).map(input).collect())
    }

    fn files(&self) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![(self.0.file.clone().leak(), self.1.iter().collect())])
    }

    fn load(settings: &Wrong, folder: &Path) -> Result<Self, Error> {
        let letters = std::fs::read_to_string(folder.join(&settings.file)).unwrap();
        let reversed = settings.mistake == Mistake::ForgetsItsFile;
        let letters =
            if reversed { letters.chars().rev().collect() } else { letters.chars().collect() };
        Ok(Self(settings.clone(), letters))
    }
}

impl Recipe for Wrong {
    type Preparation = Letters;
    type Encoder = Mean;

    fn preparation(&self) -> Self {
        self.clone()
    }

    fn encoder(&self, letters: &Letters, start: Start) -> Result<Mean, Error> {
        let Start { offset, random, device } = start;
        let mut table = init::normal([letters.1.len(), 8], 1.0, random, device);
        if self.mistake == Mistake::DrawsFromElsewhere {
            table = Param::from_tensor(Tensor::random([20, 8], Distribution::Default, device));
        }
        let offset = if self.mistake == Mistake::IgnoresTheOffset { &[0.0; 3] } else { offset };
        Ok(Mean { table, head: init::head(8, offset, random, device) })
    }
}

#[test]
fn the_built_in_recipes_keep_the_contract() {
    let texts: Vec<String> = [
        "the molecule is a methyl ester",
        "a long chain fatty acid with two double bonds",
        "an amine",
        "the methyl ester of an amino acid, a member of the class of amines",
    ]
    .map(String::from)
    .into();
    let rows = DenseRows::new(3, (0..12).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let split = |inputs| Split::new(texts.clone(), inputs, vec![None; 4]);
    let vectors = split(Inputs::Vectors(Features::Dense(rows).into()));
    let train = split(Inputs::Texts(texts.clone()));
    fn keeps<R: Recipe>(train: &Split, settings: &str) {
        let recipe: R = toml::from_str(settings).unwrap();
        contract::check(&recipe, train).unwrap_or_else(|breach| panic!("{settings}: {breach}"));
    }
    let bag = "ngrams = [{ kind = 'words', min = 1, max = 2 }]\nembedding = 8";
    keeps::<NgramBagConfig>(&train, bag);
    keeps::<NgramBagConfig>(&train, "hidden = []");
    keeps::<MlpConfig>(&vectors, "hidden = [7]");
    let spectra =
        ["90.1 30.2:1 45.1:9", "60.3 45.1:2", "90.2 30.2:3 46.5:1 80.0:4", "301.07 45.1:1"];
    let spectra = split(Inputs::Texts(spectra.map(String::from).into()));
    keeps::<PeakBagConfig>(&spectra, "blocks = [{ bin = 0.1 }]\nembedding = 8");
    let peaks = "width = 8\nheads = 2\nfeed_forward = 16\nmax_peaks = 2";
    keeps::<PeakTransformerConfig>(&spectra, peaks);
    let transformer = "width = 8\nheads = 2\nfeed_forward = 16\nmax_length = 12";
    keeps::<TransformerConfig>(&train, transformer);
    keeps::<BagBesideConfig<TransformerConfig>>(&train, BOTH);
}

const BOTH: &str = "
bag = { ngrams = [{ kind = 'words', min = 1, max = 1, min_texts = 1 }], hidden = [] }
transformer = { width = 8, heads = 2, feed_forward = 16, max_length = 12 }";

#[test]
fn a_bag_beside_a_transformer_has_the_sizes_and_the_settings_of_the_two() {
    let read = |text: &str| toml::from_str::<BagBesideConfig<TransformerConfig>>(text).unwrap();
    let split = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        Split::new(texts.clone(), Inputs::Texts(texts), vec![None; 3])
    };
    let recipe = read(BOTH);
    let train = split(&["one two three four", "two", "three"]);
    let both = BothInputs::fit(&recipe.preparation(), &train).unwrap();
    let sizes = |split: &Split| recipe.size(&both, &both.inputs(split).unwrap(), 5);
    let parts = sizes(&train);
    let keys: Vec<&str> = parts.iter().map(|part| &*part.keys).collect();
    assert_eq!(keys[0], "bag.ngrams");
    assert!(keys.contains(&"transformer.layers × transformer.width"), "{keys:?}");
    // memory is that of the longest text, time that of the mean
    let longest = ["one two three four"; 3];
    let mean = ["one two"; 3];
    assert_eq!(parts[0].activations, sizes(&split(&longest))[0].activations);
    assert_eq!(parts[0].products, sizes(&split(&mean))[0].products);
    assert_eq!(sizes(&split(&[]))[0].products, 0.0);
    for (from, to, key) in [
        ("hidden = []", "hidden = [], ngram_dropout = 1.0", "encoder.bag.ngram_dropout"),
        ("heads = 2", "heads = 3", "encoder.transformer.heads"),
    ] {
        let error = Recipe::validate(&read(&BOTH.replace(from, to))).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn the_contract_of_recipes_notices_each_mistake() {
    let texts: Vec<String> = ["one", "sixteen", "a hundred and two", "no"].map(String::from).into();
    let ids = texts.clone();
    let inputs = Inputs::Texts(texts);
    let train = Split::new(ids, inputs, vec![None; 4]);
    let with_file = |mistake, file: &str, forgotten| {
        contract::check(&Wrong { mistake, file: file.into(), forgotten }, &train)
    };
    let check = |mistake, forgotten| with_file(mistake, "letters.txt", forgotten);
    check(Mistake::None, 0).unwrap();
    for (mistake, forgotten, part) in [
        (Mistake::ForgetsItsFile, 0, "prepares other inputs"),
        (Mistake::DropsAnInput, 0, "3 inputs for 4 pairs"),
        (Mistake::DrawsFromElsewhere, 0, "the same generator draws a different table"),
        (Mistake::IgnoresTheOffset, 0, "3 coordinates, the basis 5"),
        (Mistake::ForgetsASetting, 7, "come back from TOML"),
    ] {
        let breach = check(mistake, forgotten).expect_err(&format!("{mistake:?} is not noticed"));
        assert!(breach.to_string().contains(part), "{mistake:?}: {breach}");
    }

    // a preparation writes no file that the book lists as the run's
    let page = std::fs::read_to_string("book/src/files.md").unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("| file |")).skip(2);
    let mut refused = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        let mut cells = row.split('|').skip(1);
        let files = cells.next().unwrap();
        let meaning = cells.next().unwrap();
        let own = !meaning.contains("preparation") && !meaning.contains("tokenizer");
        // names are between backquotes; of a folder the first part counts
        for file in files.split('`').skip(1).step_by(2) {
            let file = file.split('/').next().unwrap();
            match with_file(Mistake::None, file, 0) {
                Ok(()) => assert!(!own, "{file}"),
                Err(error) => {
                    let message =
                        format!("{file}: files of a preparation and of a model have plain names");
                    assert!(own && error.to_string().contains(&message), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 20, "{refused}");
}
