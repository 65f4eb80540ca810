//! Helper functions written as `.ll` text, added to a module when called.

use crate::lir::KEEPS_REGISTERS;

/// `double (double, double)`: C's `fmod`, exact, by long division.
pub(super) const FMOD: &str = "tw.fmod";

const FMOD_TEXT: &str = "\
define internal double @tw.fmod(double %x, double %y) #1 {
entry:
  %xb = bitcast double %x to i64
  %yb = bitcast double %y to i64
  %sign = and i64 %xb, -9223372036854775808
  %a = and i64 %xb, 9223372036854775807
  %b = and i64 %yb, 9223372036854775807
  %xbad = icmp uge i64 %a, 9218868437227405312
  %ynan = icmp ugt i64 %b, 9218868437227405312
  %yzero = icmp eq i64 %b, 0
  %bad0 = or i1 %xbad, %ynan
  %bad = or i1 %bad0, %yzero
  br i1 %bad, label %invalid, label %order
invalid:
  ret double 0x7FF8000000000000
order:
  %less = icmp ult i64 %a, %b
  br i1 %less, label %keep, label %start
keep:
  ret double %x
start:
  %ea0 = lshr i64 %a, 52
  %eb0 = lshr i64 %b, 52
  %asub = icmp eq i64 %ea0, 0
  %bsub = icmp eq i64 %eb0, 0
  %ma0 = and i64 %a, 4503599627370495
  %mb0 = and i64 %b, 4503599627370495
  %ma1 = or i64 %ma0, 4503599627370496
  %mb1 = or i64 %mb0, 4503599627370496
  %ma = select i1 %asub, i64 %ma0, i64 %ma1
  %mb = select i1 %bsub, i64 %mb0, i64 %mb1
  %ea = select i1 %asub, i64 1, i64 %ea0
  %eb = select i1 %bsub, i64 1, i64 %eb0
  br label %loop
loop:
  %m = phi i64 [ %ma, %start ], [ %next, %step ]
  %e = phi i64 [ %ea, %start ], [ %e1, %step ]
  %over = icmp uge i64 %m, %mb
  %sub = sub i64 %m, %mb
  %r = select i1 %over, i64 %sub, i64 %m
  %last = icmp eq i64 %e, %eb
  br i1 %last, label %done, label %step
step:
  %next = shl i64 %r, 1
  %e1 = sub i64 %e, 1
  br label %loop
done:
  %zero = icmp eq i64 %r, 0
  br i1 %zero, label %nothing, label %pack
nothing:
  %z = bitcast i64 %sign to double
  ret double %z
pack:
  %lead = call i64 @llvm.ctlz.i64(i64 %r, i1 true)
  %up0 = sub i64 %lead, 11
  %room = sub i64 %eb, 1
  %up = call i64 @llvm.umin.i64(i64 %up0, i64 %room)
  %norm = shl i64 %r, %up
  %exp = sub i64 %eb, %up
  %hidden = and i64 %norm, 4503599627370496
  %issub = icmp eq i64 %hidden, 0
  %frac = and i64 %norm, 4503599627370495
  %field = shl i64 %exp, 52
  %field1 = select i1 %issub, i64 0, i64 %field
  %v0 = or i64 %field1, %frac
  %v1 = or i64 %v0, %sign
  %v = bitcast i64 %v1 to double
  ret double %v
}
";

/// Name of the helper that copies a strided box of up to five axes of elements of `bytes` bytes:
/// `void (ptr to, ptr from, i64 n0..n4, i64 to0..to4, i64 from0..from4)`, strides in bytes.
pub(super) fn copy(bytes: u32) -> String {
    format!("tw.copy{bytes}{KEEPS_REGISTERS}")
}

/// Text of [`copy`]: five nested loops. The calling convention keeps every register of the caller.
fn copy_text(bytes: u32) -> String {
    let bits = bytes * 8;
    let names = |p: &str| (0..5).map(|i| format!("i64 %{p}{i}")).collect::<Vec<_>>().join(", ");
    let (n, t, f) = (names("n"), names("t"), names("f"));
    let mut text = format!(
        "define internal preserve_allcc void @tw.copy{bytes}.keep(ptr %to, ptr %from, {n}, {t}, {f}) #1 \
         {{\nentry:\n  br label %h0\n"
    );
    for i in 0..5 {
        let before = if i == 0 { "entry".to_string() } else { format!("b{}", i - 1) };
        let (to, from) = match i {
            0 => ("%to".to_string(), "%from".to_string()),
            _ => (format!("%p{}", i - 1), format!("%q{}", i - 1)),
        };
        let exit = if i == 0 { "done".to_string() } else { format!("l{}", i - 1) };
        let inside = if i == 4 { "body".to_string() } else { format!("h{}", i + 1) };
        text += &format!(
            "h{i}:\n  %i{i} = phi i64 [ 0, %{before} ], [ %j{i}, %l{i} ]\n  %p{i} = phi ptr [ {to}, \
             %{before} ], [ %pp{i}, %l{i} ]\n  %q{i} = phi ptr [ {from}, %{before} ], [ %qq{i}, \
             %l{i} ]\n  %c{i} = icmp slt i64 %i{i}, %n{i}\n  br i1 %c{i}, label %b{i}, label \
             %{exit}\nb{i}:\n  br label %{inside}\nl{i}:\n  %j{i} = add i64 %i{i}, 1\n  %pp{i} = \
             getelementptr i8, ptr %p{i}, i64 %t{i}\n  %qq{i} = getelementptr i8, ptr %q{i}, i64 \
             %f{i}\n  br label %h{i}\n"
        );
    }
    text += &format!(
        "body:\n  %v = load i{bits}, ptr %q4, align 1\n  store i{bits} %v, ptr %p4, align 1\n  br \
         label %l4\ndone:\n  ret void\n}}\n"
    );
    text
}

/// Name of the helper that fills: `void (ptr to, i64 count, iN value)`.
pub(super) fn fill(bytes: u32) -> String {
    format!("tw.fill{bytes}{KEEPS_REGISTERS}")
}

fn fill_text(bytes: u32) -> String {
    let bits = bytes * 8;
    format!(
        "define internal preserve_allcc void @tw.fill{bytes}.keep(ptr %to, i64 %n, i{bits} %v) #1 {{\n\
         entry:\n  br label %head\nhead:\n  %i = phi i64 [ 0, %entry ], [ %j, %body ]\n  %c = icmp \
         slt i64 %i, %n\n  br i1 %c, label %body, label %done\nbody:\n  %p = getelementptr \
         i{bits}, ptr %to, i64 %i\n  store i{bits} %v, ptr %p, align 1\n  %j = add i64 %i, 1\n  br \
         label %head\ndone:\n  ret void\n}}\n"
    )
}

/// `void (ptr keys, ptr positions, ptr spare keys, ptr spare positions, i64 n)`: sorts u64 keys
/// upwards, stable, with i32 positions moved along; bottom-up merging.
pub(super) const SORT: &str = "tw.sort";

const SORT_TEXT: &str = "\
define internal void @tw.sort(ptr %k0, ptr %p0, ptr %k1, ptr %p1, i64 %n) #1 {
entry:
  br label %pass
pass:
  %w = phi i64 [ 1, %entry ], [ %w2, %passed ]
  %ks = phi ptr [ %k0, %entry ], [ %kd, %passed ]
  %ps = phi ptr [ %p0, %entry ], [ %pd, %passed ]
  %kd = phi ptr [ %k1, %entry ], [ %ks, %passed ]
  %pd = phi ptr [ %p1, %entry ], [ %ps, %passed ]
  %more = icmp slt i64 %w, %n
  br i1 %more, label %runs, label %finish
runs:
  %lo = phi i64 [ 0, %pass ], [ %hi, %merged ]
  %any = icmp slt i64 %lo, %n
  br i1 %any, label %run, label %passed
run:
  %mid0 = add i64 %lo, %w
  %hi0 = add i64 %mid0, %w
  %mid = call i64 @llvm.smin.i64(i64 %mid0, i64 %n)
  %hi = call i64 @llvm.smin.i64(i64 %hi0, i64 %n)
  br label %merge
merge:
  %i = phi i64 [ %lo, %run ], [ %i1, %take ]
  %j = phi i64 [ %mid, %run ], [ %j1, %take ]
  %o = phi i64 [ %lo, %run ], [ %o1, %take ]
  %left = icmp slt i64 %o, %hi
  br i1 %left, label %choose, label %merged
choose:
  %hasi = icmp slt i64 %i, %mid
  %hasj = icmp slt i64 %j, %hi
  %si = select i1 %hasi, i64 %i, i64 %j
  %sj = select i1 %hasj, i64 %j, i64 %i
  %ki = getelementptr i64, ptr %ks, i64 %si
  %kj = getelementptr i64, ptr %ks, i64 %sj
  %vi = load i64, ptr %ki
  %vj = load i64, ptr %kj
  %le = icmp ule i64 %vi, %vj
  %nj = xor i1 %hasj, true
  %le1 = or i1 %le, %nj
  %first = and i1 %hasi, %le1
  br label %take
take:
  %src = select i1 %first, i64 %i, i64 %j
  %v = select i1 %first, i64 %vi, i64 %vj
  %pp = getelementptr i32, ptr %ps, i64 %src
  %pv = load i32, ptr %pp
  %dk = getelementptr i64, ptr %kd, i64 %o
  %dp = getelementptr i32, ptr %pd, i64 %o
  store i64 %v, ptr %dk
  store i32 %pv, ptr %dp
  %fi = zext i1 %first to i64
  %i1 = add i64 %i, %fi
  %ti = sub i64 1, %fi
  %j1 = add i64 %j, %ti
  %o1 = add i64 %o, 1
  br label %merge
merged:
  br label %runs
passed:
  %w2 = shl i64 %w, 1
  br label %pass
finish:
  %same = icmp eq ptr %ks, %k0
  br i1 %same, label %done, label %back
back:
  %b = phi i64 [ 0, %finish ], [ %b1, %copy ]
  %bm = icmp slt i64 %b, %n
  br i1 %bm, label %copy, label %done
copy:
  %sk = getelementptr i64, ptr %ks, i64 %b
  %sp = getelementptr i32, ptr %ps, i64 %b
  %tk = getelementptr i64, ptr %k0, i64 %b
  %tp = getelementptr i32, ptr %p0, i64 %b
  %xk = load i64, ptr %sk
  %xp = load i32, ptr %sp
  store i64 %xk, ptr %tk
  store i32 %xp, ptr %tp
  %b1 = add i64 %b, 1
  br label %back
done:
  ret void
}
";

/// `void (ptr values, i64 n, ptr counts, i32 bins)`.
pub(super) const HISTOGRAM: &str = "tw.histogram";

const HISTOGRAM_TEXT: &str = "\
define internal void @tw.histogram(ptr %x, i64 %n, ptr %counts, i32 %bins) #1 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %c = icmp slt i64 %i, %n
  br i1 %c, label %body, label %done
body:
  %p = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %p
  %ok = icmp ult i32 %v, %bins
  br i1 %ok, label %count, label %next
count:
  %w = zext i32 %v to i64
  %q = getelementptr i32, ptr %counts, i64 %w
  %old = load i32, ptr %q
  %new = add i32 %old, 1
  store i32 %new, ptr %q
  br label %next
next:
  %j = add i64 %i, 1
  br label %head
done:
  ret void
}
";

/// The text of a helper.
pub(super) fn text(name: &str) -> Option<String> {
    match name {
        FMOD => Some(FMOD_TEXT.into()),
        SORT => Some(SORT_TEXT.into()),
        HISTOGRAM => Some(HISTOGRAM_TEXT.into()),
        _ => [1, 2, 4, 8].iter().find_map(|&bytes| {
            if name == copy(bytes) {
                Some(copy_text(bytes))
            } else if name == fill(bytes) {
                Some(fill_text(bytes))
            } else {
                None
            }
        }),
    }
}
