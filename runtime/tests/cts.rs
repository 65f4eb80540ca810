//! The conformance suite of `trait Device`: every driver passes it.
//!
//! Kernels are the C ones of `common`; a device that does not execute them (null) says so, and the
//! suite then checks everything but the values.

mod common;

use common::{builder, compile_c, manifest, pack};
use std::sync::Arc;
use tilewright::abi::{Family, KernelDesc, sha256_hex};
use tilewright::device::cpu::{CpuConfig, CpuDevice};
use tilewright::device::null::NullDevice;
use tilewright::device::{
    CopyOp, Device, DeviceInfo, EventId, GraphId, Handle, ModuleId, RawBuf, StreamId,
};
use tilewright::{Args, DType, ErrorKind, Graph, Tensor};

struct Subject {
    device: Arc<dyn Device>,
    executes: bool,
}

fn subjects() -> Vec<Subject> {
    let cpu = |threads| {
        let config = CpuConfig { threads, ..CpuConfig::default() };
        Subject { device: Arc::new(CpuDevice::new(&config).unwrap()), executes: true }
    };
    let info = DeviceInfo {
        family: Family::Cpu,
        name: "null".into(),
        features: Vec::new(),
        cores: 4,
        threads: 4,
        host_memory: false,
        smem_bytes: 0,
    };
    let null = Subject { device: Arc::new(NullDevice::new(info)), executes: false };
    vec![cpu(1), cpu(2), cpu(5), null]
}

const DEFAULT: StreamId = StreamId(0);

#[test]
fn memory_is_zeroed_aligned_and_bounded() {
    for s in subjects() {
        let d = &*s.device;
        for bytes in [0usize, 1, 63, 64, 4097, 3 << 20] {
            let buf = d.alloc(bytes).unwrap();
            assert_eq!(buf.addr % 64, 0);
            assert_eq!(buf.bytes, bytes);
            let mut out = vec![9u8; bytes];
            d.copy(CopyOp::ToHost { src: buf, offset: 0, dst: &mut out }, DEFAULT).unwrap();
            assert!(out.iter().all(|&b| b == 0));
            for (offset, len) in [(0, bytes + 1), (bytes, 1), (usize::MAX, 1), (1, bytes)] {
                let src = vec![0u8; len];
                let to = d.copy(CopyOp::ToDevice { src: &src, dst: buf, offset }, DEFAULT);
                assert_eq!(to.unwrap_err().kind(), ErrorKind::InvalidArgument);
                let mut dst = vec![0u8; len];
                let from = d.copy(CopyOp::ToHost { src: buf, offset, dst: &mut dst }, DEFAULT);
                assert_eq!(from.unwrap_err().kind(), ErrorKind::InvalidArgument);
            }
            d.free(buf);
            let gone = d.copy(CopyOp::ToHost { src: buf, offset: 0, dst: &mut [0] }, DEFAULT);
            assert_eq!(gone.unwrap_err().kind(), ErrorKind::InvalidArgument);
            d.free(buf);
        }
        d.free(RawBuf { addr: 12345, bytes: 7 });
        assert_eq!(d.alloc(1 << 60).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }
}

#[test]
fn copies_move_bytes() {
    for s in subjects().iter().filter(|s| s.executes) {
        let d = &*s.device;
        let (a, b) = (d.alloc(16).unwrap(), d.alloc(16).unwrap());
        let src: Vec<u8> = (0..16).collect();
        d.copy(CopyOp::ToDevice { src: &src, dst: a, offset: 0 }, DEFAULT).unwrap();
        let within = |src_offset, dst_offset, bytes| {
            d.copy(CopyOp::Within { src: a, src_offset, dst: b, dst_offset, bytes }, DEFAULT)
        };
        within(4, 2, 8).unwrap();
        assert!(within(4, 2, 15).is_err());
        let mut out = [0u8; 16];
        d.copy(CopyOp::ToHost { src: b, offset: 0, dst: &mut out }, DEFAULT).unwrap();
        assert_eq!(out, [0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn modules_are_checked_and_found() {
    let so = compile_c(common::SOURCE);
    let desc = |symbol: &str| -> KernelDesc {
        let m = manifest(&sha256_hex(&so));
        m.kernels.iter().find(|k| k.symbol == symbol).unwrap().clone()
    };
    for s in subjects() {
        let d = &*s.device;
        let m = d.load(&desc("axpy"), &so).unwrap();
        assert_ne!(d.kernel(m, "axpy").unwrap(), d.kernel(m, "empty").unwrap());
        if s.executes {
            assert_eq!(d.kernel(m, "absent").unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(d.kernel(m, "with\0zero").unwrap_err().kind(), ErrorKind::NotFound);
        }
        let mut changed = so.clone();
        changed[100] ^= 1;
        assert_eq!(d.load(&desc("axpy"), &changed).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(d.kernel(ModuleId(999), "axpy").unwrap_err().kind(), ErrorKind::NotFound);
        d.release(Handle::Module(ModuleId(999)));
    }
}

#[test]
fn artifacts_do_not_take_each_others_place() {
    // Loaders may know objects by path or name; many short-lived descriptors must not confuse them.
    for s in subjects().iter().filter(|s| s.executes) {
        let rt = |value: u32| {
            let source = format!(
                "void axpy(unsigned long *a, long *g, long b, long e) {{ *(float *)a[5] = {value}.0f; }} \
                 void stash() {{}} void colsum() {{}} void empty() {{}}"
            );
            let so = compile_c(&source);
            let pack = common::pack_of(&[manifest(&sha256_hex(&so))], &[so]);
            builder(1).device(Arc::clone(&s.device)).pack(pack).build().unwrap()
        };
        for value in [1u32, 2, 3] {
            let rt = rt(value);
            let y = Tensor::zeros(&rt, DType::F32, &[1, 4]).unwrap();
            let args = Args::new().tensor("x", &y).tensor("y", &y);
            rt.run("axpy", &args, &rt.stream().unwrap()).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap()[0], value as f32);
        }
    }
}

#[test]
fn streams_and_events() {
    for s in subjects() {
        let d = &*s.device;
        let (a, b) = (d.create_stream().unwrap(), d.create_stream().unwrap());
        assert!(a != b && a != DEFAULT && b != DEFAULT);
        let first = d.record(a).unwrap();
        d.wait(first, b).unwrap();
        let second = d.record(b).unwrap();
        d.elapsed(first, second).unwrap();
        d.sync(a).unwrap();
        d.sync(DEFAULT).unwrap();
        d.release(Handle::Event(first));
        assert_eq!(d.wait(first, b).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(d.elapsed(EventId(99), second).unwrap_err().kind(), ErrorKind::NotFound);
        d.release(Handle::Event(EventId(99)));
        d.release(Handle::Stream(a));
    }
}

#[test]
fn launches_keep_order_and_captures_are_separate() {
    for s in subjects() {
        let rt = builder(1).device(Arc::clone(&s.device)).pack(pack()).build().unwrap();
        let (stream, other) = (rt.stream().unwrap(), rt.stream().unwrap());
        let x = Tensor::from_slice(&rt, &[1.0f32; 64], &[16, 4]).unwrap();
        let y = Tensor::zeros(&rt, DType::F32, &[16, 4]).unwrap();
        let args = Args::new().tensor("x", &x).tensor("y", &y);
        let add = rt.plan("axpy", &args).unwrap().bind(&args).unwrap();
        let back = args.clone().tensor("x", &y).tensor("y", &x);
        let add_back = rt.plan("axpy", &back).unwrap().bind(&back).unwrap();
        // Fibonacci: each launch reads what the one before wrote.
        let graph = Graph::record(&rt, &stream, |s| {
            for _ in 0..5 {
                add.run(s)?;
                add_back.run(s)?;
            }
            // Another stream is not recorded.
            add.run(&other)
        });
        let graph = graph.unwrap();
        if s.executes {
            assert_eq!(y.to_vec::<f32>().unwrap(), [1.0; 64]);
            graph.replay(&other).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap(), [89.0; 64]);
            assert_eq!(x.to_vec::<f32>().unwrap(), [144.0; 64]);
        } else {
            graph.replay(&other).unwrap();
        }
    }
}

#[test]
fn captures_are_refused_when_they_cannot_be() {
    for s in subjects() {
        let d = &*s.device;
        let stream = d.create_stream().unwrap();
        assert_eq!(d.end_capture(stream).unwrap_err().kind(), ErrorKind::InvalidArgument);
        d.begin_capture(stream).unwrap();
        assert_eq!(d.begin_capture(stream).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let buf = d.alloc(8).unwrap();
        let to_host = CopyOp::ToHost { src: buf, offset: 0, dst: &mut [0u8; 8] };
        assert_eq!(d.copy(to_host, stream).unwrap_err().kind(), ErrorKind::Unsupported);
        let empty = d.end_capture(stream).unwrap();
        d.replay(empty, stream).unwrap();
        d.release(Handle::Graph(empty));
        assert_eq!(d.replay(empty, stream).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(d.replay(GraphId(77), stream).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn the_null_device_tells_what_would_be_launched() {
    let info = CpuDevice::new(&CpuConfig::default()).unwrap().info().clone();
    let null = Arc::new(NullDevice::new(DeviceInfo { host_memory: false, ..info }));
    let rt = builder(1).device(null.clone()).pack(pack()).build().unwrap();
    let y = Tensor::zeros(&rt, DType::F32, &[3, 4]).unwrap();
    let args = Args::new().tensor("x", &y).tensor("y", &y);
    rt.run("axpy", &args, &rt.stream().unwrap()).unwrap();
    let launches = null.take_launches();
    assert_eq!(launches.len(), 1);
    assert_eq!((launches[0].symbol.as_str(), launches[0].grid), ("axpy", [3, 1, 1]));
    let view = [y.addr(), 3, 4, 4, 1];
    assert_eq!(launches[0].words, [&view[..], &view[..], &[0x3f80_0000]].concat());
    let lent = Tensor::from_owner(&rt, vec![0u8; 4], DType::F32, &[1]);
    assert_eq!(lent.err().unwrap().kind(), ErrorKind::Unsupported);
}

#[test]
fn no_memory_is_kept_by_calls() {
    // Many plans, calls, graphs and failures leave nothing behind that grows.
    for s in subjects().iter().take(1) {
        let rt = builder(1).device(Arc::clone(&s.device)).pack(pack()).build().unwrap();
        let stream = rt.stream().unwrap();
        let rss = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
            text.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok()).unwrap_or(0) * 4096
        };
        let round = || {
            for m in 1..40usize {
                let x = Tensor::zeros(&rt, DType::F32, &[m, 64]).unwrap();
                let y = Tensor::zeros(&rt, DType::F32, &[64]).unwrap();
                let args = Args::new().tensor("x", &x).tensor("y", &y);
                let call = rt.plan("column_sum", &args).unwrap().bind(&args).unwrap();
                let graph = Graph::record(&rt, &stream, |s| call.run(s)).unwrap();
                graph.replay(&stream).unwrap();
                assert!(rt.plan("axpy", &args).is_err());
            }
        };
        (0..50).for_each(|_| round());
        let args = Args::new().axis("programs", 2);
        let call = rt.plan("nothing", &args).unwrap().bind(&args).unwrap();
        let before = rss();
        (0..200).for_each(|_| round());
        (0..1_000_000).for_each(|_| call.run(&stream).unwrap());
        let grown = rss().saturating_sub(before);
        assert!(grown < 4 << 20, "grew by {grown} bytes");
    }
}
