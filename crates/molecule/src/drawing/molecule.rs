//! Drawings of molecules as SVG.

use std::collections::HashMap;
use std::fmt::Write;

use super::label::{LabelPart, color, label};
use super::layout::{Placed, placed, unit};
use super::wedges::{Wedge, inner_side, wedges};
use super::{MIDDLE, Point, line, opened, text};
use crate::ged::{Limit, edit_distance};
use crate::graph::Graph;
use crate::molecule::{Bond, BondOrder, Molecule};

/// Space around a drawing.
const PADDING: f64 = 24.0;

/// Width of lines, and of the wide end of a wedge from its middle.
const WIDTH: f64 = 1.8;
const WIDE: f64 = 4.0;

/// Distance of the lines of a double or triple bond, and what an inner line is shorter at each end.
const APART: f64 = 5.5;
const SHORTER: f64 = 5.0;

/// Space between a label and the end of a bond.
const SPACE: f64 = 2.0;

/// The colour of atoms and bonds that differ, and the states of the search for these.
const MARK: &str = "#ffcf70";
const WIDE_MARK: f64 = 16.0;
const STATES: u64 = 20_000;

/// The classes of marks, by what they mark.
const DIFFERS: &str = "differs";
const MARKED: &str = "marked";

/// Distance of the strokes of a hashed wedge.
const STROKE: f64 = 3.0;

/// The largest part of a bond that the labels at its ends cover together. Where they are wider, each may cover half of it.
const COVERED: f64 = 0.84;

impl Molecule {
    /// Returns a drawing as a self-contained SVG document: bonds of the Kekulé structure, wedges at stereocentres,
    /// labels at all atoms but plain carbons: those with a charge, a mass number or an unpaired electron have one. Molecules
    /// that differ in the numbering of their atoms have the same drawing.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let svg = Molecule::parse("Oc1ccccc1")?.svg();
    /// assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        self.drawn(Marked::Nothing)
    }

    /// Returns the same, with the differences from a second molecule marked: atoms and bonds that a cheapest edit path
    /// from it makes or changes ([`edit_distance`], 20,000 states).
    pub fn svg_with_difference(&self, from: &Molecule) -> String {
        self.drawn(Marked::Difference(from))
    }

    /// Returns the same drawing as [`svg`](Self::svg), with some atoms marked, and the bonds between them. Indices that are
    /// not of [`atoms`](Self::atoms) mark nothing.
    ///
    /// ```
    /// use dsokr_molecule::Molecule;
    ///
    /// let phenol = Molecule::parse("Oc1ccccc1")?;
    /// let svg = phenol.svg_with_marked(&[0, 1]);
    /// // two atoms and the bond between them
    /// assert_eq!(svg.matches("class=\"marked\"").count(), 3);
    /// # Ok::<(), dsokr_molecule::Error>(())
    /// ```
    pub fn svg_with_marked(&self, atoms: &[usize]) -> String {
        self.drawn(Marked::Atoms(atoms))
    }

    fn drawn(&self, marked: Marked) -> String {
        let Placed { molecule, points, origins } = placed(self);
        let labels: Vec<Vec<LabelPart>> =
            (0..points.len()).map(|atom| label(&molecule, &points, atom)).collect();
        let corners: Vec<Point> =
            points.iter().zip(&labels).flat_map(|(&atom, runs)| corners(atom, runs)).collect();
        let mut drawing = Drawing {
            svg: opened(&points, PADDING, &corners),
            molecule: &molecule,
            points: &points,
            labels: &labels,
        };
        match marked {
            Marked::Nothing => {}
            Marked::Difference(from) => drawing.mark_difference(from),
            Marked::Atoms(atoms) => {
                drawing.mark_atoms(|atom| origins.get(atom).is_some_and(|at| atoms.contains(at)));
            }
        }
        for ((at, bond), wedge) in
            molecule.bonds().iter().enumerate().zip(wedges(&molecule, &points))
        {
            match wedge {
                Some(wedge) => drawing.wedge(bond, wedge),
                None => drawing.bond(bond, at),
            }
        }
        let mut svg = drawing.svg;
        for ((atom, &[x, y]), runs) in molecule.atoms().iter().zip(&points).zip(&labels) {
            let color = format!(" fill=\"{}\"", color(atom.element));
            for LabelPart { text: letters, middle, size } in runs {
                text(
                    &mut svg,
                    [x + middle[0], y + middle[1] + MIDDLE * size],
                    *size,
                    &color,
                    letters,
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// What a drawing marks.
enum Marked<'a> {
    Nothing,
    /// What differs from another molecule.
    Difference(&'a Molecule),
    /// Some atoms, and the bonds between them.
    Atoms(&'a [usize]),
}

/// A drawing in the making.
struct Drawing<'a> {
    svg: String,
    molecule: &'a Molecule,
    points: &'a [Point],
    labels: &'a [Vec<LabelPart>],
}

impl Drawing<'_> {
    fn mark_difference(&mut self, from: &Molecule) {
        let [from, to] = [from, self.molecule].map(Graph::from);
        let limit = Limit { states: Some(STATES), ..Limit::NONE };
        let mut origins = vec![None; to.len()];
        for (node, image) in edit_distance(&from, &to, &limit).mapping.into_iter().enumerate() {
            if let Some(to) = image {
                origins[to] = Some(node);
            }
        }
        let old: HashMap<_, _> = from.edges().map(|(a, b, label)| ((a, b), label)).collect();
        for (a, b, label) in to.edges() {
            let ends = origins[a].zip(origins[b]).map(|(a, b)| (a.min(b), a.max(b)));
            if ends.and_then(|ends| old.get(&ends)) != Some(&label) {
                let [[x1, y1], [x2, y2]] = [a, b].map(|atom| self.points[atom]);
                self.mark(DIFFERS, format_args!("M{x1:.2},{y1:.2} L{x2:.2},{y2:.2}"));
            }
        }
        for (atom, origin) in origins.into_iter().enumerate() {
            if origin.is_none_or(|origin| from.labels()[origin] != to.labels()[atom]) {
                let [x, y] = self.points[atom];
                self.mark(DIFFERS, format_args!("M{x:.2},{y:.2} h0.01"));
            }
        }
    }

    /// Marks atoms, and the bonds between them.
    fn mark_atoms(&mut self, is_marked: impl Fn(usize) -> bool) {
        let molecule = self.molecule;
        let inside = |bond: &&Bond| bond.atoms.iter().all(|&end| is_marked(end));
        for bond in molecule.bonds().iter().filter(inside) {
            let [[x1, y1], [x2, y2]] = bond.atoms.map(|end| self.points[end]);
            self.mark(MARKED, format_args!("M{x1:.2},{y1:.2} L{x2:.2},{y2:.2}"));
        }
        for atom in (0..self.points.len()).filter(|&atom| is_marked(atom)) {
            let [x, y] = self.points[atom];
            self.mark(MARKED, format_args!("M{x:.2},{y:.2} h0.01"));
        }
    }

    fn mark(&mut self, class: &str, path: std::fmt::Arguments) {
        let _ = writeln!(
            self.svg,
            "  <path class=\"{class}\" d=\"{path}\" stroke=\"{MARK}\" stroke-width=\"{WIDE_MARK}\" \
             stroke-linecap=\"round\"/>"
        );
    }

    fn bond(&mut self, bond: &Bond, at: usize) {
        let [from, to] = bond.atoms;
        match bond.order {
            BondOrder::Single => self.line([from, to], 0.0, WIDTH),
            BondOrder::Double => {
                let side = inner_side(self.molecule, self.points, at);
                let offsets =
                    if side == 0.0 { [APART / 2.0, -APART / 2.0] } else { [0.0, side * APART] };
                offsets.into_iter().for_each(|offset| self.line([from, to], offset, WIDTH));
            }
            BondOrder::Triple => {
                [0.0, -APART, APART]
                    .into_iter()
                    .for_each(|offset| self.line([from, to], offset, WIDTH));
            }
            BondOrder::Quadruple => self.line([from, to], 0.0, 2.0 * WIDTH),
            BondOrder::Dative => {
                self.line([from, to], 0.0, WIDTH);
                let [_, tip] = self.ends([from, to], 0.0);
                let along = unit(self.points, from, to);
                self.polygon([
                    tip,
                    shifted(tip, along, [-10.0, 3.0]),
                    shifted(tip, along, [-10.0, -3.0]),
                ]);
            }
        }
    }

    /// Draws a bond that leaves the plane: a triangle, or strokes that become wider.
    fn wedge(&mut self, bond: &Bond, Wedge { from, towards }: Wedge) {
        let [a, b] = bond.atoms;
        let to = a + b - from;
        let along = unit(self.points, from, to);
        let [narrow, wide] = self.ends([from, to], 0.0);
        if towards {
            self.polygon([
                narrow,
                shifted(wide, along, [0.0, WIDE]),
                shifted(wide, along, [0.0, -WIDE]),
            ]);
            return;
        }
        let length = (wide[0] - narrow[0]).hypot(wide[1] - narrow[1]);
        let strokes = (length / STROKE).round().max(1.0);
        let mut stroke = 1.0;
        while stroke <= strokes {
            let place = length * stroke / strokes;
            let half = 0.5 + (WIDE - 0.5) * stroke / strokes;
            let ends = [half, -half].map(|across| shifted(narrow, along, [place, across]));
            line(&mut self.svg, ends, 1.0, "");
            stroke += 1.0;
        }
    }

    /// Draws a line of a bond, `offset` to the right of the way from the first atom to the second.
    fn line(&mut self, atoms: [usize; 2], offset: f64, width: f64) {
        let ends = self.ends(atoms, offset);
        line(&mut self.svg, ends, width, "");
    }

    /// Returns the ends of a line of a bond, as far from labels as they need to be. Lines next to the middle one are
    /// shorter, except where a bond ends.
    fn ends(&self, [from, to]: [usize; 2], offset: f64) -> [Point; 2] {
        let along = unit(self.points, from, to);
        let length = self.distance(from, to);
        // the two lines around the middle of a double bond are half as far from it
        let inner = offset.abs() > APART / 2.0 + 1e-9;
        let start = |atom: usize| shifted(self.points[atom], along, [0.0, offset]);
        let cut = |atom: usize, other: usize| {
            let direction = unit(self.points, atom, other);
            let covered = self.labels[atom].iter().fold(0.0, |covered: f64, run| {
                covered.max(leaves(run, self.points[atom], start(atom), direction))
            });
            let shorter = if inner && self.molecule.degree(atom) > 1 { SHORTER } else { 0.0 };
            if covered > 0.0 { covered + SPACE } else { shorter }
        };
        let [first, second] = [cut(from, to), cut(to, from)];
        let most = COVERED * length;
        let end = |atom: usize, other: usize, [cut, cut_of_other]: [f64; 2]| {
            let direction = unit(self.points, atom, other);
            let room = (most - cut_of_other).max(most / 2.0);
            shifted(start(atom), direction, [cut.min(room), 0.0])
        };
        [end(from, to, [first, second]), end(to, from, [second, first])]
    }

    fn distance(&self, from: usize, to: usize) -> f64 {
        let [dx, dy] = [0, 1].map(|axis| self.points[to][axis] - self.points[from][axis]);
        dx.hypot(dy)
    }

    fn polygon(&mut self, corners: [Point; 3]) {
        let corners = corners.map(|[x, y]| format!("{x:.2},{y:.2}")).join(" ");
        // writing to a string cannot fail
        let _ = writeln!(self.svg, "  <polygon points=\"{corners}\" fill=\"black\"/>");
    }
}

/// Returns a point moved along a direction, and to its right.
fn shifted([x, y]: Point, [dx, dy]: Point, [along, across]: [f64; 2]) -> Point {
    [x + along * dx - across * dy, y + along * dy + across * dx]
}

/// Returns two opposite corners of each piece of the label of an atom.
fn corners([x, y]: Point, runs: &[LabelPart]) -> Vec<Point> {
    let corners = |run: &LabelPart| {
        let [wide, high] = run.half();
        let [across, down] = run.middle;
        [-1.0, 1.0].map(|side| [x + across + side * wide, y + down + side * high])
    };
    runs.iter().flat_map(corners).collect()
}

/// Returns how far along a direction a line from `start` leaves the letters of a label around `atom`; 0 where it does
/// not meet them.
fn leaves(run: &LabelPart, atom: Point, start: Point, direction: Point) -> f64 {
    let mut enters = 0.0_f64;
    let mut leaves = f64::INFINITY;
    for axis in [0, 1] {
        let middle = atom[axis] + run.middle[axis] - start[axis];
        let half = run.half()[axis];
        if direction[axis].abs() < 1e-9 {
            if middle.abs() > half {
                return 0.0;
            }
            continue;
        }
        let [near, far] = [-half, half].map(|side| (middle + side) / direction[axis]);
        enters = enters.max(near.min(far));
        leaves = leaves.min(near.max(far));
    }
    if enters < leaves { leaves } else { 0.0 }
}
