//! Tensors: views, copies, limits, and DLPack in and out.

mod common;

use common::runtime;
use tilewright::{DType, ErrorKind, Tensor};

#[test]
fn views_read_and_write_what_they_show() {
    let rt = runtime(1);
    let values: Vec<i32> = (0..24).collect();
    let t = Tensor::from_slice(&rt, &values, &[2, 3, 4]).unwrap();
    assert_eq!(t.strides(), [12, 4, 1]);
    let s = t.slice(1, 1, 2).unwrap();
    assert_eq!(
        s.to_vec::<i32>().unwrap(),
        [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23]
    );
    assert!(!s.is_packed());
    let column = t.select(2, 3).unwrap();
    assert_eq!(
        (column.shape(), column.to_vec::<i32>().unwrap()),
        (&[2, 3][..], vec![3, 7, 11, 15, 19, 23])
    );
    let tr = t.select(0, 1).unwrap().transpose(0, 1).unwrap();
    assert_eq!(tr.to_vec::<i32>().unwrap(), [12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23]);
    tr.write_slice(&[0i32; 12]).unwrap();
    let mut want: Vec<i32> = (0..12).collect();
    want.extend([0; 12]);
    assert_eq!(t.to_vec::<i32>().unwrap(), want);
    assert_eq!(
        t.reshape(&[4, 6]).unwrap().slice(0, 3, 1).unwrap().to_vec::<i32>().unwrap(),
        [0; 6]
    );
    let none = t.slice(0, 2, 0).unwrap();
    assert_eq!(none.to_vec::<i32>().unwrap(), [0i32; 0]);
    let scalar = Tensor::from_slice(&rt, &[7i32], &[]).unwrap();
    assert_eq!(scalar.to_vec::<i32>().unwrap(), [7]);
}

#[test]
fn impossible_tensors_are_refused() {
    let rt = runtime(1);
    let t = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    let kind = |r: tilewright::Result<Tensor>| r.err().map(|e| e.kind());
    let bad = Some(ErrorKind::InvalidArgument);
    assert_eq!(kind(t.slice(1, 3, 2)), bad);
    assert_eq!(kind(t.slice(1, usize::MAX, 2)), bad);
    assert_eq!(kind(t.slice(2, 0, 1)), bad);
    assert_eq!(kind(t.select(0, 3)), bad);
    assert_eq!(kind(t.transpose(0, 2)), bad);
    assert_eq!(kind(t.reshape(&[5])), bad);
    assert_eq!(kind(t.transpose(0, 1).unwrap().reshape(&[12])), bad);
    assert_eq!(kind(Tensor::from_slice(&rt, &[1.0f32; 3], &[4])), bad);
    assert_eq!(kind(Tensor::from_bytes(&rt, &[0; 3], DType::F16, &[2])), bad);
    assert_eq!(kind(Tensor::zeros(&rt, DType::F32, &[usize::MAX, 2])), Some(ErrorKind::Limit));
    assert_eq!(kind(Tensor::zeros(&rt, DType::F32, &[1 << 62])), Some(ErrorKind::Limit));
    assert_eq!(kind(Tensor::zeros(&rt, DType::U8, &[1 << 60])), Some(ErrorKind::OutOfMemory));
    assert_eq!(kind(Tensor::zeros(&rt, DType::F32, &[1; 9])), Some(ErrorKind::Limit));
    let over = |offset, shape: &[usize], strides: &[i64]| {
        Tensor::with_strides(t.buffer().clone(), offset, DType::F32, shape, strides)
    };
    assert_eq!(kind(over(0, &[13], &[1])), bad);
    assert_eq!(kind(over(4, &[12], &[1])), bad);
    assert_eq!(kind(over(0, &[2], &[i64::MAX])), bad);
    assert_eq!(kind(over(0, &[2], &[-1])), bad);
    assert_eq!(kind(over(usize::MAX, &[2], &[1])), bad);
    assert_eq!(kind(over(0, &[2], &[1, 1])), bad);
    assert_eq!(over(4, &[2], &[-1]).unwrap().to_vec::<f32>().unwrap(), [0.0; 2]);
    assert!(t.to_vec::<i32>().is_err());
    assert!(t.write_slice(&[0.0f32; 11]).is_err());
}

#[test]
fn elements_below_a_byte_are_packed() {
    let rt = runtime(1);
    let t = Tensor::from_bytes(&rt, &[0x21, 0x43, 0x65], DType::U4, &[3, 2]).unwrap();
    assert_eq!(t.to_bytes().unwrap(), [0x21, 0x43, 0x65]);
    assert_eq!(t.slice(0, 1, 2).unwrap().to_bytes().unwrap(), [0x43, 0x65]);
    assert_eq!(t.slice(1, 1, 1).err().unwrap().kind(), ErrorKind::Unsupported);
    assert_eq!(t.transpose(0, 1).err().unwrap().kind(), ErrorKind::Unsupported);
}

#[test]
fn lent_memory_is_read_in_place() {
    let rt = runtime(1);
    let owner: std::sync::Arc<[u8]> = (0..16u8).collect();
    let t = Tensor::from_owner(&rt, owner.clone(), DType::U8, &[4, 4]).unwrap();
    assert_eq!(t.addr(), owner.as_ptr() as u64);
    assert_eq!(t.select(1, 2).unwrap().to_vec::<u8>().unwrap(), [2, 6, 10, 14]);
    assert_eq!(t.write_slice(&[0u8; 16]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(Tensor::from_owner(&rt, owner, DType::U8, &[17]).is_err());
}

#[test]
fn dlpack_describes_and_keeps_memory() {
    let rt = runtime(1);
    let t = Tensor::from_slice(&rt, &[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    assert!(t.transpose(0, 1).unwrap().to_dlpack().is_ok_and(|p| !p.is_null()));
    assert!(t.to_dlpack_versioned().is_ok_and(|p| !p.is_null()));
    let lent = Tensor::from_owner(&rt, vec![0u8; 4], DType::U8, &[4]).unwrap();
    assert_eq!(lent.to_dlpack().err().unwrap().kind(), ErrorKind::Unsupported);
    let tf32 = Tensor::zeros(&rt, DType::TF32, &[1]).unwrap();
    assert_eq!(tf32.to_dlpack().err().unwrap().kind(), ErrorKind::Unsupported);
}
