//! Where libnay comes from. Without a feature: the installed library, in NAY_LIB_DIR or where the linker looks; static with
//! NAY_STATIC=1. With `bundled`: nay.c of `make amalgamation`, in NAY_AMALGAMATION or beside this file.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for name in ["NAY_LIB_DIR", "NAY_STATIC", "NAY_AMALGAMATION", "CC", "AR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        bundled();
    } else {
        if let Some(dir) = env::var_os("NAY_LIB_DIR") {
            println!("cargo:rustc-link-search=native={}", Path::new(&dir).display());
        }
        let how = if env::var_os("NAY_STATIC").is_some() { "static" } else { "dylib" };
        println!("cargo:rustc-link-lib={how}=nay");
    }
}

fn bundled() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let dir = env::var_os("NAY_AMALGAMATION").unwrap_or_else(|| env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let source = Path::new(&dir).join("nay.c");
    println!("cargo:rerun-if-changed={}", source.display());
    let object = out.join("nay.o");
    run(Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-O3", "-DNDEBUG", "-fPIC", "-std=c11", "-c"]).arg(&source).arg("-o").arg(&object));
    run(Command::new(env::var_os("AR").unwrap_or_else(|| "ar".into()))
        .arg("crs").arg(out.join("libnay.a")).arg(&object));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=nay");
    println!("cargo:rustc-link-lib=pthread");
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        other => panic!("{command:?}: {other:?}; `make amalgamation` writes nay.c, and NAY_AMALGAMATION names its directory"),
    }
}
