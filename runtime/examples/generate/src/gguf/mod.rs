//! The GGUF file format: header, metadata, tensor table, data.
//!
//! In: the bytes of a file, untrusted. Out: [`Gguf`], in which every length, count, offset and type has
//! been checked against the file, or an error that names the field at fault. Nothing here panics, and
//! nothing is allocated by a count that the file has no room for.

mod cursor;
mod tensor;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use cursor::Cursor;

use crate::error::{Error, Result};

pub use tensor::{TensorInfo, TensorType};
pub use value::Value;

const MAGIC: [u8; 4] = *b"GGUF";
const DEFAULT_ALIGNMENT: u64 = 32;
const MAX_DIMS: u32 = 4;
/// A metadata pair has at least a key length, a type and one byte.
const MIN_PAIR_BYTES: u64 = 8 + 4 + 1;
/// A tensor entry has at least a name length, a dimension count, a type and an offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;

/// The checked contents of a file, without its data.
#[derive(Clone, Debug)]
pub struct Gguf {
    version: u32,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, TensorInfo>,
}

impl Gguf {
    /// Reads and checks everything before the tensor data, and that the data is all there.
    pub fn parse(bytes: &[u8]) -> Result<Gguf> {
        let mut c = Cursor::new(bytes);
        let version = read_version(&mut c)?;
        let num_tensors = c.count(MIN_TENSOR_BYTES, "the number of tensors")?;
        let num_pairs = c.count(MIN_PAIR_BYTES, "the number of metadata pairs")?;
        let metadata = read_metadata(&mut c, num_pairs)?;
        let alignment = alignment(&metadata)?;
        let entries =
            (0..num_tensors).map(|i| read_entry(&mut c, i)).collect::<Result<Vec<Entry>>>()?;
        let tensors = place(entries, c.position() as u64, alignment, bytes.len() as u64)?;
        Ok(Gguf { version, metadata, tensors })
    }

    /// The format version, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// All tensors in the order of their names.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.values()
    }

    /// The metadata value of this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// A string; absent is `None`, another type is an error.
    pub fn string(&self, key: &str) -> Result<Option<&str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(other) => Err(wrong_type(key, "a string", other)),
        }
    }

    /// A non-negative integer of any width; absent is `None`, another type is an error.
    pub fn unsigned(&self, key: &str) -> Result<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Unsigned(v)) => Ok(Some(*v)),
            Some(Value::Signed(v)) if *v >= 0 => Ok(Some(*v as u64)),
            Some(Value::Signed(v)) => Err(Error::malformed(format!("`{key}` is {v}, below 0"))),
            Some(other) => Err(wrong_type(key, "an integer", other)),
        }
    }

    /// A float; absent is `None`, another type is an error.
    pub fn float(&self, key: &str) -> Result<Option<f64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Float(v)) => Ok(Some(*v)),
            Some(other) => Err(wrong_type(key, "a float", other)),
        }
    }

    /// A truth value; absent is `None`, another type is an error.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(v)) => Ok(Some(*v)),
            Some(other) => Err(wrong_type(key, "a bool", other)),
        }
    }

    /// An array of strings; absent is `None`, another type is an error.
    pub fn strings(&self, key: &str) -> Result<Option<&[String]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Strings(v)) => Ok(Some(v)),
            Some(other) => Err(wrong_type(key, "an array of strings", other)),
        }
    }

    /// An array of integers; absent is `None`, another type is an error.
    pub fn integers(&self, key: &str) -> Result<Option<&[i64]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Integers(v)) => Ok(Some(v)),
            Some(other) => Err(wrong_type(key, "an array of integers", other)),
        }
    }

    /// An array of floats; absent is `None`, another type is an error.
    pub fn floats(&self, key: &str) -> Result<Option<&[f64]>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Floats(v)) => Ok(Some(v)),
            Some(other) => Err(wrong_type(key, "an array of floats", other)),
        }
    }
}

fn wrong_type(key: &str, want: &str, got: &Value) -> Error {
    Error::malformed(format!("`{key}` should be {want} but is {}", got.kind()))
}

fn read_version(c: &mut Cursor<'_>) -> Result<u32> {
    let magic: [u8; 4] = c.array("the magic number")?;
    if magic != MAGIC {
        return Err(Error::malformed(format!(
            "not a GGUF file: it starts with the bytes {magic:02x?}, not `GGUF`"
        )));
    }
    match c.u32("the format version")? {
        v @ (2 | 3) => Ok(v),
        v if matches!(v.swap_bytes(), 1..=3) => {
            Err(Error::unsupported("the file is big-endian; only little-endian GGUF is supported"))
        }
        v => Err(Error::unsupported(format!("GGUF version {v}; versions 2 and 3 are supported"))),
    }
}

fn read_metadata(c: &mut Cursor<'_>, n: usize) -> Result<BTreeMap<String, Value>> {
    let mut metadata = BTreeMap::new();
    for i in 0..n {
        let key = c.string(&format!("metadata key {i}"))?;
        let value = value::read_value(c, &key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(Error::malformed(format!("metadata key `{key}` appears twice")));
        }
    }
    Ok(metadata)
}

fn alignment(metadata: &BTreeMap<String, Value>) -> Result<u64> {
    match metadata.get("general.alignment") {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(Value::Unsigned(v)) if v.is_power_of_two() && *v <= 1 << 20 => Ok(*v),
        Some(other) => Err(Error::malformed(format!(
            "`general.alignment` should be a power of two up to 1048576 but is {other:?}"
        ))),
    }
}

/// A table entry before its place in the file has been checked.
struct Entry {
    name: String,
    dims: Vec<u64>,
    ty: TensorType,
    offset: u64,
    bytes: u64,
}

fn read_entry(c: &mut Cursor<'_>, i: usize) -> Result<Entry> {
    let name = c.string(&format!("the name of tensor {i}"))?;
    let what = format!("the entry of tensor `{name}`");
    let num_dims = c.u32(&what)?;
    if num_dims == 0 || num_dims > MAX_DIMS {
        return Err(Error::malformed(format!(
            "tensor `{name}` has {num_dims} dimensions; 1 to {MAX_DIMS} are possible"
        )));
    }
    let dims = (0..num_dims).map(|_| c.u64(&what)).collect::<Result<Vec<u64>>>()?;
    if dims.contains(&0) {
        return Err(Error::malformed(format!("tensor `{name}` has an extent of 0: {dims:?}")));
    }
    let number = c.u32(&what)?;
    let ty = TensorType::from_number(number).ok_or_else(|| {
        Error::unsupported(format!("tensor `{name}` has the unknown type number {number}"))
    })?;
    let offset = c.u64(&what)?;
    let bytes = tensor::tensor_bytes(&name, &dims, ty)?;
    Ok(Entry { name, dims, ty, offset, bytes })
}

/// Checks that the tensors lie aligned, apart and inside the file, whose header ends at `header_end`.
fn place(
    entries: Vec<Entry>,
    header_end: u64,
    alignment: u64,
    file_bytes: u64,
) -> Result<BTreeMap<String, TensorInfo>> {
    let data_start = header_end.next_multiple_of(alignment);
    let mut tensors = BTreeMap::new();
    let mut extents = BTreeSet::new();
    for Entry { name, dims, ty, offset, bytes } in entries {
        if offset % alignment != 0 {
            return Err(Error::malformed(format!(
                "tensor `{name}` starts at offset {offset}, not a multiple of the alignment {alignment}"
            )));
        }
        let start = data_start.checked_add(offset);
        let end = start.and_then(|s| s.checked_add(bytes));
        let (Some(start), Some(end)) = (start, end.filter(|end| *end <= file_bytes)) else {
            return Err(Error::malformed(format!(
                "tensor `{name}` needs {bytes} bytes at offset {offset} of the data, which starts at byte \
                 {data_start}, but the file ends at byte {file_bytes}"
            ))
            .with_help("the file may be cut short; fetch it again"));
        };
        extents.insert((start, end, name.clone()));
        let info = TensorInfo {
            name: name.clone(),
            dims,
            ty,
            offset: start as usize,
            bytes: bytes as usize,
        };
        if tensors.insert(name.clone(), info).is_some() {
            return Err(Error::malformed(format!("tensor `{name}` appears twice")));
        }
    }
    let mut before: Option<&(u64, u64, String)> = None;
    for extent in &extents {
        if let Some((_, end, name)) = before.filter(|b| b.1 > extent.0) {
            return Err(Error::malformed(format!(
                "tensors `{name}` and `{}` overlap: the first ends at byte {end}, the second starts at {}",
                extent.2, extent.0
            )));
        }
        before = Some(extent);
    }
    Ok(tensors)
}
