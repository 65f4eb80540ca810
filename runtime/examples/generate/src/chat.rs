//! Chat forms: how a question becomes a prompt.
//!
//! The file's template is a program in another language; only which of the known forms it writes is read
//! from it, and the system message it has built in.

use crate::error::{Error, Result};
use crate::gguf::Gguf;

/// A known chat form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatForm {
    /// `<|im_start|>role … <|im_end|>`
    ChatMl,
    /// `<|start_header_id|>role<|end_header_id|> … <|eot_id|>`
    Llama3,
    /// `<|role|> … </s>`
    Zephyr,
}

/// A chat form with its system message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    form: ChatForm,
    system: Option<String>,
}

impl Chat {
    /// The form of the file's chat template; `None` when the file has no template.
    pub fn from_gguf(gguf: &Gguf) -> Result<Option<Chat>> {
        let Some(template) = gguf.string("tokenizer.chat_template")? else {
            return Ok(None);
        };
        let form = if template.contains("<|im_start|>") {
            ChatForm::ChatMl
        } else if template.contains("<|start_header_id|>") {
            ChatForm::Llama3
        } else if template.contains("<|user|>") && template.contains("<|assistant|>") {
            ChatForm::Zephyr
        } else {
            return Err(Error::unsupported("the chat template of this file is of an unknown form")
                .with_help("write the prompt in the model's own form and pass --raw"));
        };
        let system = match form {
            ChatForm::ChatMl => built_in_system(template),
            ChatForm::Llama3 | ChatForm::Zephyr => None,
        };
        Ok(Some(Chat { form, system }))
    }

    /// With another system message.
    #[must_use]
    pub fn with_system(mut self, system: Option<&str>) -> Chat {
        if let Some(system) = system {
            self.system = Some(system.to_owned());
        }
        self
    }

    /// The prompt that asks `question`.
    pub fn prompt(&self, question: &str) -> String {
        let mut out = String::new();
        if let Some(system) = self.system.as_deref().filter(|s| !s.is_empty()) {
            self.turn(&mut out, "system", system);
        }
        self.turn(&mut out, "user", question);
        out.push_str(match self.form {
            ChatForm::ChatMl => "<|im_start|>assistant\n",
            ChatForm::Llama3 => "<|start_header_id|>assistant<|end_header_id|>\n\n",
            ChatForm::Zephyr => "<|assistant|>\n",
        });
        out
    }

    fn turn(&self, out: &mut String, role: &str, text: &str) {
        let (before, after_role, end) = match self.form {
            ChatForm::ChatMl => ("<|im_start|>", "\n", "<|im_end|>\n"),
            ChatForm::Llama3 => ("<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"),
            ChatForm::Zephyr => ("<|", "|>\n", "</s>\n"),
        };
        for part in [before, role, after_role, text, end] {
            out.push_str(part);
        }
    }
}

/// The literal system message inside a ChatML template, if it has one.
fn built_in_system(template: &str) -> Option<String> {
    let (_, rest) = template
        .split_once("<|im_start|>system\n")
        .or_else(|| template.split_once("<|im_start|>system\\n"))?;
    let (text, _) = rest.split_once("<|im_end|>")?;
    let literal = !text.contains(['\'', '"', '{', '}']);
    literal.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_system_message_is_found_only_as_a_literal() {
        let template = "{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}";
        assert_eq!(built_in_system(template).as_deref(), Some("Be kind."));
        let computed = "{{ '<|im_start|>system\n' + message + '<|im_end|>\n' }}";
        assert_eq!(built_in_system(computed), None);
    }

    #[test]
    fn chat_ml_has_turns_and_an_open_answer() {
        let chat = Chat { form: ChatForm::ChatMl, system: None };
        let want = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(chat.prompt("Hi"), want);
        let chat = chat.with_system(Some("Short."));
        assert!(
            chat.prompt("Hi").starts_with("<|im_start|>system\nShort.<|im_end|>\n<|im_start|>user")
        );
    }
}
