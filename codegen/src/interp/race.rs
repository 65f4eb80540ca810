//! Finds programs of one launch that depend on each other's order, and stores that write an address twice.

use super::codes;
use tilewright_ir::Diagnostic;

/// Who has touched an element so far.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Nobody,
    /// The program with this linear id.
    One(u32),
    Many,
}

impl Who {
    fn add(&mut self, program: u32) {
        *self = match *self {
            Who::Nobody => Who::One(program),
            Who::One(p) if p == program => Who::One(p),
            Who::One(_) | Who::Many => Who::Many,
        };
    }

    /// Whether somebody else has.
    fn others(self, program: u32) -> bool {
        self != Who::Nobody && self != Who::One(program)
    }
}

#[derive(Clone, Copy)]
struct Element {
    read: Who,
    written: Who,
    atomic: Who,
    /// The store that wrote it last.
    store: u32,
}

/// The record of one view's memory over a launch, by element.
pub(super) struct Race {
    elements: Vec<Element>,
    program: u32,
    store: u32,
}

impl Race {
    pub(super) fn new(len: usize) -> Race {
        let (nobody, store) = (Who::Nobody, 0);
        let element = Element { read: nobody, written: nobody, atomic: nobody, store };
        Race { elements: vec![element; len], program: 0, store }
    }

    pub(super) fn set_program(&mut self, program: u32) {
        self.program = program;
    }

    pub(super) fn next_store(&mut self) {
        self.store += 1;
    }

    fn check(&self, at: usize, clash: bool, what: &str) -> Result<(), Diagnostic> {
        if !clash {
            return Ok(());
        }
        let message = format!("the result depends on the order of programs: {what}");
        Err(Diagnostic::new(codes::RACE, message)
            .label(format!("program {}, element {at} of the argument's memory", self.program)))
    }

    pub(super) fn read(&mut self, at: usize) -> Result<(), Diagnostic> {
        let program = self.program;
        let Some(element) = self.elements.get_mut(at) else { return Ok(()) };
        element.read.add(program);
        let clash = element.written.others(program) || element.atomic.others(program);
        self.check(at, clash, "this reads what another program writes")
    }

    pub(super) fn write(&mut self, at: usize) -> Result<(), Diagnostic> {
        let (program, store) = (self.program, self.store);
        let Some(element) = self.elements.get_mut(at) else { return Ok(()) };
        let twice = std::mem::replace(&mut element.store, store) == store;
        element.written.add(program);
        let b = *element;
        if twice {
            return Err(Diagnostic::new(codes::RACE, "one store writes an address twice")
                .label(format!("program {program}, element {at} of the argument's memory")));
        }
        self.check(at, b.written.others(program), "this writes what another program writes")?;
        let clash = b.read.others(program) || b.atomic.others(program);
        self.check(at, clash, "this writes what another program uses")
    }

    pub(super) fn atomic(&mut self, at: usize) -> Result<(), Diagnostic> {
        let program = self.program;
        let Some(element) = self.elements.get_mut(at) else { return Ok(()) };
        element.atomic.add(program);
        let clash = element.written.others(program) || element.read.others(program);
        self.check(at, clash, "this updates what another program reads or writes")
    }
}
