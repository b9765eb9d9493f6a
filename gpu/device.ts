/**
 * What the library needs of a WebGPU device. A `GPUDevice` has it, of a browser, of Deno or of a package. So nobody needs the types of WebGPU to have ours.
 *
 * @module
 */

/** A buffer of a device: a `GPUBuffer`. {@linkcode DeviceArray} has one. */
export interface DeviceBuffer {
  /** Its bytes. */
  readonly size: number;
  /** Waits until it can be read. */
  mapAsync(mode: number): Promise<unknown>;
  /** Its bytes, once it can be read. */
  getMappedRange(): ArrayBuffer;
  /** Ends the reading. */
  unmap(): void;
  /** Frees it. */
  destroy(): void;
}

/** A pass of commands that compute, of a {@linkcode Device}: a `GPUComputePassEncoder`. What is `never` takes only what the same device made. */
export interface DevicePass {
  /** Takes a pipeline. */
  setPipeline(pipeline: never): void;
  /** Takes what is bound. */
  setBindGroup(index: number, group: never): void;
  /** Runs the pipeline. */
  dispatchWorkgroups(x: number, y?: number): void;
  /** Ends the pass. */
  end(): void;
}

/** Commands that are put together, of a {@linkcode Device}: a `GPUCommandEncoder`. */
export interface DeviceCommands {
  /** Begins a pass that computes. */
  beginComputePass(): DevicePass;
  /** Copies bytes. */
  copyBufferToBuffer(
    from: never,
    fromOffset: number,
    to: never,
    toOffset: number,
    size: number,
  ): void;
  /** Ends the commands. */
  finish(): unknown;
}

/** A WebGPU device: a `GPUDevice`. {@linkcode onDevice} takes one. What is `never` takes only what the same device made, or a descriptor with it. */
export interface Device<B extends DeviceBuffer = DeviceBuffer> {
  /** What it can do. */
  readonly limits: {
    /** Bytes of a buffer. */
    readonly maxBufferSize: number;
    /** Bytes of a buffer that a shader can reach at a time. */
    readonly maxStorageBufferBindingSize: number;
    /** Groups of threads that run in one direction. */
    readonly maxComputeWorkgroupsPerDimension: number;
  };
  /** Why the device has gone, once it has. */
  readonly lost: Promise<{
    /** In one word. */
    readonly reason: string;
    /** In words. */
    readonly message: string;
  }>;
  /** What it does, one thing after another. */
  readonly queue: {
    /** Copies bytes to the device. */
    writeBuffer(
      buffer: never,
      offset: number,
      data: Uint8Array<ArrayBuffer>,
      dataOffset?: number,
      size?: number,
    ): void;
    /** Runs commands. */
    submit(commands: never[]): void;
    /** Waits until all that was asked is done. */
    onSubmittedWorkDone(): Promise<unknown>;
  };
  /** Makes a buffer. */
  createBuffer(
    descriptor: { readonly size: number; readonly usage: number; readonly label?: string },
  ): B;
  /** Reads a shader. */
  createShaderModule(descriptor: { readonly code: string; readonly label?: string }): unknown;
  /** Makes a shader ready. */
  createComputePipeline(descriptor: never): {
    /** What it binds. */
    getBindGroupLayout(index: number): unknown;
  };
  /** Binds buffers. */
  createBindGroup(descriptor: never): unknown;
  /** Begins commands. */
  createCommandEncoder(): DeviceCommands;
  /** Keeps errors of this kind from now on. */
  pushErrorScope(filter: "out-of-memory" | "validation"): void;
  /** The first error that was kept. */
  popErrorScope(): Promise<{ readonly message: string } | null | undefined>;
}

/** The usages of buffers, as WebGPU numbers them. */
export const USAGE = { mapRead: 1, copyFrom: 4, copyTo: 8, uniform: 64, storage: 128 } as const;

/** The mode in which a buffer is mapped to be read. */
export const MAP_READ = 1;
