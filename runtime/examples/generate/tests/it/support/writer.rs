//! Writes small GGUF files: sound ones to run, and the ground that mutations start from.

/// A file under construction.
#[derive(Clone, Default)]
pub(crate) struct GgufWriter {
    pairs: Vec<u8>,
    num_pairs: u64,
    tensors: Vec<(String, Vec<u64>, u32, Vec<u8>)>,
}

impl GgufWriter {
    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        let mut bytes = Vec::new();
        push_string(&mut bytes, value);
        self.pair(key, 8, &bytes)
    }

    pub(crate) fn u32(self, key: &str, value: u32) -> Self {
        self.pair(key, 4, &value.to_le_bytes())
    }

    pub(crate) fn f32(self, key: &str, value: f32) -> Self {
        self.pair(key, 6, &value.to_le_bytes())
    }

    pub(crate) fn boolean(self, key: &str, value: bool) -> Self {
        self.pair(key, 7, &[u8::from(value)])
    }

    pub(crate) fn strings<S: AsRef<str>>(self, key: &str, values: &[S]) -> Self {
        let mut bytes = array_head(8, values.len());
        for value in values {
            push_string(&mut bytes, value.as_ref());
        }
        self.pair(key, 9, &bytes)
    }

    pub(crate) fn i32s(self, key: &str, values: &[i32]) -> Self {
        let mut bytes = array_head(5, values.len());
        bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self.pair(key, 9, &bytes)
    }

    pub(crate) fn f32s(self, key: &str, values: &[f32]) -> Self {
        let mut bytes = array_head(6, values.len());
        bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self.pair(key, 9, &bytes)
    }

    /// A metadata pair with the bytes of its value as they are.
    pub(crate) fn pair(mut self, key: &str, ty: u32, value: &[u8]) -> Self {
        push_string(&mut self.pairs, key);
        self.pairs.extend(ty.to_le_bytes());
        self.pairs.extend(value);
        self.num_pairs += 1;
        self
    }

    pub(crate) fn tensor(mut self, name: &str, dims: &[u64], ty: u32, data: Vec<u8>) -> Self {
        self.tensors.push((name.to_owned(), dims.to_vec(), ty, data));
        self
    }

    /// The file, and the length of its header: everything before the data.
    pub(crate) fn finish(self) -> (Vec<u8>, usize) {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.num_pairs.to_le_bytes());
        file.extend(&self.pairs);
        let mut offset = 0u64;
        for (name, dims, ty, data) in &self.tensors {
            push_string(&mut file, name);
            file.extend((dims.len() as u32).to_le_bytes());
            file.extend(dims.iter().flat_map(|d| d.to_le_bytes()));
            file.extend(ty.to_le_bytes());
            file.extend(offset.to_le_bytes());
            offset = (offset + data.len() as u64).next_multiple_of(32);
        }
        let header = file.len();
        for (_, _, _, data) in &self.tensors {
            file.resize(file.len().next_multiple_of(32), 0);
            file.extend(data);
        }
        (file, header)
    }
}

fn array_head(ty: u32, len: usize) -> Vec<u8> {
    let mut bytes = ty.to_le_bytes().to_vec();
    bytes.extend((len as u64).to_le_bytes());
    bytes
}

fn push_string(bytes: &mut Vec<u8>, s: &str) {
    bytes.extend((s.len() as u64).to_le_bytes());
    bytes.extend(s.as_bytes());
}
