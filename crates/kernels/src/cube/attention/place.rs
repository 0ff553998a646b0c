use cubecl::prelude::*;

/// The constants that a kernel is compiled for. Widths, distances and columns count vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub heads: u32,
    /// Width of a head.
    pub width: u32,
    /// Keys, or queries, of a tile.
    pub tile: u32,
    /// Whether queries, keys and values lie side by side in one matrix; otherwise each text has one query, and only
    /// keys and values do.
    pub packed: bool,
    pub dropped: bool,
    /// Units of a plane that share a row of a head: a wide one does not fit in the registers of one unit.
    pub parts: u32,
}

impl Shape {
    /// Returns the number of vectors of a unit's part of a row.
    pub fn own(self) -> u32 {
        self.width / self.parts
    }

    pub fn d(self) -> u32 {
        self.heads * self.width
    }

    /// Returns the distance between rows of queries, and of keys and values.
    pub fn strides(self) -> [u32; 2] {
        if self.packed { [3 * self.d(); 2] } else { [self.d(), 2 * self.d()] }
    }

    /// Returns the column of the first key.
    pub fn keys(self) -> u32 {
        if self.packed { self.d() } else { 0 }
    }
}

/// The place of a cube: a text and a head.
#[derive(CubeType, Clone, Copy)]
pub struct Place {
    /// Row of the text's first key and of its first query.
    pub keys_from: u32,
    pub queries_from: u32,
    pub keys: u32,
    pub queries: u32,
    /// The head, and its column.
    pub head: u32,
    pub column: u32,
    /// Number of its first probability among all.
    pub number: u32,
    /// The number of the cube among the cubes of the text's head.
    pub tile: u32,
    /// Whether there is such a text. Else the place is that of the last one.
    pub exists: bool,
}

/// Returns the place of this cube. `texts` holds the row of each text's first token, the number of rows, and the sum of
/// the squares of the lengths of the texts before each, which is the number of its first probability. With one query a
/// text, it holds the sum of the lengths instead. There are `tiles` cubes for each head of each of `count` texts.
#[cube]
pub fn own_place(texts: &[u32], count: u32, tiles: u32, #[comptime] shape: Shape) -> Place {
    let cube = CUBE_POS as u32;
    let tile = cube % tiles;
    let head = (cube / tiles) % shape.heads;
    let number = cube / (tiles * shape.heads);
    let exists = number < count;
    let text = min(number, count - 1);
    let from = texts[text as usize];
    let keys = texts[text as usize + 1] - from;
    let mut queries = keys;
    let mut queries_from = from;
    if comptime!(!shape.packed) {
        queries = 1u32;
        queries_from = text;
    }
    let mut before = from;
    if comptime!(shape.packed) {
        before = texts[(count + 1 + text) as usize];
    }
    let number = before * shape.heads + head * queries * keys;
    let column = head * shape.width;
    Place { keys_from: from, queries_from, keys, queries, head, column, number, tile, exists }
}

/// The part of a query's row, or of a key's, that a unit owns.
#[derive(CubeType, Clone, Copy)]
pub struct Own {
    /// Number of the query or the key in its text.
    pub number: u32,
    /// Whether the text has it. Else `row` is the text's last.
    pub active: bool,
    pub row: u32,
    /// The first vector of the part.
    pub part: u32,
}

/// Returns the unit's query, or key, of the `count` of a text whose rows begin at `from`.
#[cube]
pub fn own_row(
    place: &Place,
    from: u32,
    count: u32,
    #[comptime] rows: u32,
    #[comptime] shape: Shape,
) -> Own {
    let number = place.tile * rows + UNIT_POS / shape.parts;
    let row = from + min(number, count - 1);
    Own { number, active: place.exists && number < count, row, part: UNIT_POS % shape.parts }
}
