//! Token ids of the demo model's tokenizer equal the reference; text comes back unchanged.

use crate::support;
use generate::tokenizer::Tokenizer;

#[test]
fn ids_equal_the_reference_and_decode_to_the_text() {
    let file = support::open_model();
    let tokenizer = Tokenizer::from_gguf(file.gguf()).expect("a tokenizer");
    for r in support::references() {
        let ids = tokenizer.encode(&r.prompt).expect("ids");
        assert_eq!(ids, r.ids, "{:?}", r.prompt);
        let text: String = r.prompt.replace("<|im_start|>", "").replace("<|im_end|>", "");
        assert_eq!(tokenizer.decode(&ids), text);
        assert_eq!(tokenizer.decode(&r.greedy), r.text);
    }
    let end = tokenizer.id("<|im_end|>").expect("the end of a turn");
    assert!(tokenizer.is_end(end) && !tokenizer.is_end(504));
    assert_eq!(tokenizer.encode("").expect("nothing"), Vec::<u32>::new());
}
