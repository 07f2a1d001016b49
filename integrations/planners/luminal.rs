// luminal < inputs: as planners.cpp, with the `FreeList` of luminal's arena.rs, which the folder of the source has as
// `free_list.rs`: its struct and its impl, as they stand. What ends at a time is freed before what starts then.
use std::collections::BTreeMap;
use std::io::BufRead;

include!("free_list.rs");

fn main() {
    for line in std::io::stdin().lock().lines() {
        let fields: Vec<usize> = line.unwrap().split(' ').map(|field| field.parse().unwrap()).collect();
        let mut events: Vec<(usize, bool, usize)> = Vec::new();
        for k in 0..fields.len() / 3 {
            events.push((fields[3 * k + 1], true, k));
            events.push((fields[3 * k + 2], false, k));
        }
        events.sort();
        let mut list = FreeList::default();
        let mut offsets = vec![0; fields.len() / 3];
        for (_, starts, k) in events {
            let need = fields[3 * k].max(1).div_ceil(256) * 256;
            if starts {
                offsets[k] = list.alloc(need);
            } else {
                list.free(offsets[k], need);
            }
        }
        let texts: Vec<String> = offsets.iter().map(|offset| offset.to_string()).collect();
        println!("{}", texts.join(" "));
    }
}
