// Two buffers that are alive at one time, planned through memplan.h.
use std::os::raw::{c_int, c_void};

const UNLIMITED: i64 = i64::MAX;
const FREE: i64 = i64::MIN;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Buffer {
    size: i64,
    begin: i64,
    end: i64,
    alignment: i64,
    pin: i64,
    lowest: i64,
    limit: i64,
    no_cross: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Rows {
    first: *const c_void,
    count: usize,
}

#[repr(C)]
struct Problem {
    buffers: *const Buffer,
    count: usize,
    capacity: i64,
    base: i64,
    only_pairs: c_int,
    pairs: Rows,
    gaps: Rows,
    joins: Rows,
    reserved: Rows,
    memories: Rows,
    memory_of: *const usize,
    prices: Rows,
    same_offset: *const usize,
    bank: i64,
    banks: Rows,
    shares: Rows,
    places: Rows,
}

#[repr(C)]
struct Outcome {
    status: c_int,
    rule: c_int,
    proof: c_int,
    ran_out: i32,
    buffer: usize,
    other: usize,
    peak: i64,
    bound: i64,
    cost: i64,
    cost_bound: i64,
    nodes: i64,
    orders: i32,
    order: i32,
    memory: usize,
    moved: i64,
    moved_bound: i64,
    missed: i64,
    least: i64,
}

extern "C" {
    fn memplan_plan(problem: *const Problem, options: *const c_void, offsets: *mut i64) -> Outcome;
}

fn main() {
    let row = Buffer { alignment: 64, pin: FREE, ..Default::default() };
    let buffers = [Buffer { size: 401408, begin: 0, end: 3, ..row }, Buffer { size: 200704, begin: 2, end: 5, ..row }];
    let none = Rows { first: std::ptr::null(), count: 0 };
    let problem = Problem {
        buffers: buffers.as_ptr(),
        count: buffers.len(),
        capacity: UNLIMITED,
        base: 0,
        only_pairs: 0,
        pairs: none,
        gaps: none,
        joins: none,
        reserved: none,
        memories: none,
        memory_of: std::ptr::null(),
        prices: none,
        same_offset: std::ptr::null(),
        bank: 0,
        banks: none,
        shares: none,
        places: none,
    };
    let mut offsets = [0i64; 2];
    let outcome = unsafe { memplan_plan(&problem, std::ptr::null(), offsets.as_mut_ptr()) };
    assert_eq!(outcome.status, 0, "no plan is better");
    println!("{} bytes at {:?}", outcome.peak, offsets);
}
