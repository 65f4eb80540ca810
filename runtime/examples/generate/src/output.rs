//! Text as it comes: one answer streams, those of the other prompts wait for their turn.

use std::io::{self, Write};

use crate::tokenizer::{TextStream, Tokenizer};

/// Prints the answers of a batch in the order of the prompts.
pub struct AnswerPrinter<W> {
    out: W,
    answers: Vec<Answer>,
    /// The answer that streams.
    current: usize,
    /// Whether the heading of `current` has been printed.
    headed: bool,
}

#[derive(Default)]
struct Answer {
    stream: TextStream,
    waiting: String,
    done: bool,
}

impl<W: Write> AnswerPrinter<W> {
    /// For `num_prompts` answers; more than one get headings.
    pub fn new(out: W, num_prompts: usize) -> Self {
        let answers = (0..num_prompts).map(|_| Answer::default()).collect();
        Self { out, answers, current: 0, headed: false }
    }

    /// Takes the next token of answer `row`.
    pub fn token(&mut self, row: usize, tokenizer: &Tokenizer, id: u32) -> io::Result<()> {
        if let Some(answer) = self.answers.get_mut(row) {
            let text = answer.stream.push(tokenizer.bytes(id));
            answer.waiting.push_str(&text);
        }
        self.print()
    }

    /// Answer `row` is complete.
    pub fn finish(&mut self, row: usize) -> io::Result<()> {
        if let Some(answer) = self.answers.get_mut(row).filter(|a| !a.done) {
            let text = answer.stream.finish();
            answer.waiting.push_str(&text);
            answer.done = true;
        }
        self.print()
    }

    /// All answers are complete.
    pub fn finish_all(&mut self) -> io::Result<()> {
        (0..self.answers.len()).try_for_each(|row| self.finish(row))
    }

    fn print(&mut self) -> io::Result<()> {
        let several = self.answers.len() > 1;
        while let Some(answer) = self.answers.get_mut(self.current) {
            if several && !self.headed {
                writeln!(self.out, "[{}]", self.current + 1)?;
                self.headed = true;
            }
            self.out.write_all(answer.waiting.as_bytes())?;
            answer.waiting.clear();
            if !answer.done {
                break;
            }
            writeln!(self.out)?;
            self.current += 1;
            self.headed = false;
        }
        self.out.flush()
    }
}
