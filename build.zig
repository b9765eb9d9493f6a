//! Builds the kernel with Zig's C++ toolchain (Zig 0.17).
//!
//!   zig build                  the shared library for this machine, in zig-out/lib/
//!   zig build test             builds the C++ tests like the library, but with assertions on, and runs them
//!
//! This file lists folders to find sources and tests, so a new file needs no edit here.
//! The .cpp files of kernel/, selectors/ and eviction/ are the kernel. Each .cpp below tests/kernel, tests/selectors and
//! tests/eviction is a program with a main(). So is each .c, in C99, which proves that exrp.h is plain C.
//!
//! `deno task build` (tools/build_kernel.ts) makes the same library as `zig build`, but calls Zig's compiler directly.
//! That saves the compilation of this file and of Zig's build system (80 s, once).
//! kernel/CMakeLists.txt uses the system's compiler. It also builds the C++ tests under sanitizers.
//! All three read the flags from kernel/flags.txt, and the files to compile for size from kernel/cold.txt.

const std = @import("std");

/// The kernel's flags, one per line. build.zig, tools/build_kernel.ts and kernel/CMakeLists.txt all read this file.
/// Results must be bit-identical on every platform. So a * b + c is never rounded once instead of twice
/// (-ffp-contract=off), and -ffast-math is forbidden.
const flags_text = @embedFile("kernel/flags.txt");
/// The sources that are compiled for size: no call of an actor's or a learner's step goes through them. All three read this file as well.
const cold_text = @embedFile("kernel/cold.txt");
const c_test_flags = [_][]const u8{ "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-DEXRP_BUILD", "-UNDEBUG" };

const source_folders = [_][]const u8{ "kernel", "selectors", "eviction" };
const test_folders = [_][]const u8{ "tests/kernel", "tests/selectors", "tests/eviction" };

pub fn build(b: *std.Build) void {
    const kernel_sources = listSources(b, &source_folders, ".cpp");
    const flags = listWords(b, flags_text);

    const triple = b.option([]const u8, "target", "Target triple (default: this machine's, baseline CPU)") orelse
        hostTriple(b);
    const target = resolve(b, triple);

    b.getInstallStep().dependOn(&b.addInstallArtifact(addKernel(b, target, kernel_sources, flags), library_only).step);

    const test_step = b.step("test", "Build and run the C++ tests");
    addTests(b, .{ .target = target, .kernel_sources = kernel_sources, .flags = flags, .run = test_step });
}

const library_only: std.Build.Step.InstallArtifact.Options = .{
    // A Windows DLL goes to lib/ as well, so that one place serves every system.
    .dest_dir = .{ .override = .lib },
    .pdb_dir = .disabled,
    .implib_dir = .disabled,
    .h_dir = .disabled,
};

/// The shared library that Deno opens.
fn addKernel(
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    sources: []const []const u8,
    flags: []const []const u8,
) *std.Build.Step.Compile {
    const module = addModule(b, target);
    const cold = listWords(b, cold_text);
    var hot: std.ArrayList([]const u8) = .empty;
    for (sources) |source| {
        for (cold) |file| {
            if (std.mem.eql(u8, file, source)) break;
        } else hot.append(b.allocator, source) catch @panic("OOM");
    }
    const cold_flags = std.mem.concat(b.allocator, []const u8, &.{ flags, &.{"-Os"} }) catch @panic("OOM");
    module.addCSourceFiles(.{ .files = hot.items, .flags = flags, .language = .cpp });
    module.addCSourceFiles(.{ .files = cold, .flags = cold_flags, .language = .cpp });
    const library = b.addLibrary(.{ .name = "exrp", .linkage = .dynamic, .root_module = module });
    library.link_gc_sections = true;
    if (target.result.os.tag == .linux) library.setVersionScript(b.path("kernel/exports.map"));
    return library;
}

const TestOptions = struct {
    target: std.Build.ResolvedTarget,
    kernel_sources: []const []const u8,
    flags: []const []const u8,
    run: *std.Build.Step,
};

/// Builds the kernel once as a static library, and links each file of the test folders with it as a program.
fn addTests(b: *std.Build, options: TestOptions) void {
    const kernel_module = addModule(b, options.target);
    // The tests run the same code with assertions on, which Zig's fast mode turns off. Memory must be committed before use,
    // and a test can refuse it (kernel/base/memory.cpp).
    const test_flags = std.mem.concat(b.allocator, []const u8, &.{ options.flags, &.{ "-UNDEBUG", "-DEXRP_TEST_MEMORY" } }) catch @panic("OOM");
    kernel_module.addCSourceFiles(.{ .files = options.kernel_sources, .flags = test_flags, .language = .cpp });
    const kernel = b.addLibrary(.{ .name = "exrp-tests", .linkage = .static, .root_module = kernel_module });

    for (listSources(b, &test_folders, ".cpp")) |file| addProgram(b, options, kernel, file, test_flags, .cpp);
    for (listSources(b, &test_folders, ".c")) |file| addProgram(b, options, kernel, file, &c_test_flags, .c);
}

fn addProgram(
    b: *std.Build,
    options: TestOptions,
    kernel: *std.Build.Step.Compile,
    file: []const u8,
    flags: []const []const u8,
    language: std.Build.Module.CSourceLanguage,
) void {
    const module = addModule(b, options.target);
    module.addCSourceFiles(.{ .files = &.{file}, .flags = flags, .language = language });
    module.linkLibrary(kernel);
    // Names as in CMakeLists.txt: tests/kernel/store/block_index_test.cpp becomes kernel_store_block_index_test.
    const stem = file["tests/".len .. file.len - std.fs.path.extension(file).len];
    const name = b.allocator.dupe(u8, stem) catch @panic("OOM");
    std.mem.replaceScalar(u8, name, '/', '_');
    const program = b.addExecutable(.{ .name = name, .root_module = module });
    program.pie = true;

    // `zig build test -- file.ops` replays a recording.
    const run = b.addRunArtifact(program);
    if (std.mem.eql(u8, name, "kernel_replay_operations")) run.addPassthruArgs();
    options.run.dependOn(&run.step);
}

/// All modules share these settings, so libc++ is compiled once for the library and its tests.
fn addModule(b: *std.Build, target: std.Build.ResolvedTarget) *std.Build.Module {
    const module = b.createModule(.{
        .target = target,
        .optimize = .fast,
        .link_libc = true,
        .link_libcpp = true,
        .strip = true,
        // Windows needs them to walk through a stack; elsewhere only debuggers and exceptions do.
        .unwind_tables = if (target.result.os.tag == .windows) null else .none,
        .pic = true,
        .sanitize_c = .off,
        .sanitize_thread = false,
    });
    module.addIncludePath(b.path("."));
    return module;
}

fn resolve(b: *std.Build, triple: []const u8) std.Build.ResolvedTarget {
    const query = std.Target.Query.parse(.{ .arch_os_abi = triple }) catch |problem| {
        std.process.fatal("-Dtarget={s} is no target triple ({s}); an example of one is {s}", .{
            triple, @errorName(problem), "x86_64-linux-gnu.2.17",
        });
    };
    return b.resolveTargetQuery(query);
}

/// The released triple of this machine: the baseline CPU of its architecture, never its own CPU. So the library runs on
/// other machines, and gives the same bits everywhere.
fn hostTriple(b: *std.Build) []const u8 {
    const host = b.graph.host.result;
    return switch (host.os.tag) {
        .linux => b.fmt("{t}-linux-gnu.2.17", .{host.cpu.arch}),
        .macos => b.fmt("{t}-macos.11.0", .{host.cpu.arch}),
        .windows => b.fmt("{t}-windows-gnu", .{host.cpu.arch}),
        else => |tag| b.fmt("{t}-{t}", .{ host.cpu.arch, tag }),
    };
}

/// The lines of a text.
fn listWords(b: *std.Build, text: []const u8) []const []const u8 {
    var words: std.ArrayList([]const u8) = .empty;
    var lines = std.mem.tokenizeAny(u8, text, "\r\n");
    while (lines.next()) |line| words.append(b.allocator, line) catch @panic("OOM");
    return words.items;
}

/// The files with this extension below some folders, sorted, as paths from the repository's root.
fn listSources(b: *std.Build, folders: []const []const u8, extension: []const u8) []const []const u8 {
    const io = b.graph.io;
    var files: std.ArrayList([]const u8) = .empty;
    for (folders) |folder| {
        var dir = b.root.openDir(io, folder, .{ .iterate = true }) catch |problem| switch (problem) {
            error.FileNotFound => continue,
            else => std.process.fatal("cannot list {s}: {s}", .{ folder, @errorName(problem) }),
        };
        defer dir.close(io);
        b.dependOnDirectoryContents(b.path(folder));
        var entries = dir.iterate();
        while (entries.next(io) catch |problem| {
            std.process.fatal("cannot list {s}: {s}", .{ folder, @errorName(problem) });
        }) |entry| {
            if (entry.kind == .directory) {
                const inner = listSources(b, &.{b.pathJoin(&.{ folder, entry.name })}, extension);
                files.appendSlice(b.allocator, inner) catch @panic("OOM");
            }
            if (entry.kind != .file or !std.mem.endsWith(u8, entry.name, extension)) continue;
            files.append(b.allocator, b.pathJoin(&.{ folder, entry.name })) catch @panic("OOM");
        }
    }
    std.mem.sort([]const u8, files.items, {}, struct {
        fn before(_: void, left: []const u8, right: []const u8) bool {
            return std.mem.lessThan(u8, left, right);
        }
    }.before);
    return files.items;
}
