/** A WebGPU device for tests. Where there is no driver, the tests are left out by name. Debian's mesa-vulkan-drivers is one that needs no GPU. */
import { onWasm } from "../_native.ts";

const adapter = await navigator.gpu?.requestAdapter().catch(() => null);

/** Whether there is a driver. */
const hasDevice: boolean = adapter !== null && adapter !== undefined;

/** A new device, of which each error ends the test. */
export async function newDevice(limits: GPUDeviceDescriptor["requiredLimits"] = {}): Promise<
  GPUDevice & Disposable
> {
  // An adapter gives one device only.
  const found = await navigator.gpu.requestAdapter();
  if (found === null) throw new Error("the adapter has gone");
  const device = await found.requestDevice({ requiredLimits: limits });
  device.addEventListener("uncapturederror", (event) => {
    throw new Error((event as GPUUncapturedErrorEvent).error.message);
  });
  return Object.assign(device, { [Symbol.dispose]: () => device.destroy() });
}

/** The device, but for what `change` says of it. */
export function changed(
  device: GPUDevice,
  change: (name: string | symbol) => unknown,
): GPUDevice {
  return new Proxy(device, {
    get(of, name): unknown {
      const value: unknown = Reflect.get(of, name);
      return change(name) ?? (typeof value === "function" ? value.bind(of) : value);
    },
  });
}

/** The device, which has no memory left while it is full. */
export function withoutMemory(device: GPUDevice, isFull: () => boolean): GPUDevice {
  const refuse = async (): Promise<object> => {
    await device.popErrorScope();
    return { message: "out of memory" };
  };
  return changed(device, (name) => name === "popErrorScope" && isFull() ? refuse : undefined);
}

function testOnGpu(name: string, fn: () => void | Promise<void>, isElsewhere: boolean): void {
  if (hasDevice) Deno.test({ name, fn, ignore: isElsewhere });
  else Deno.test({ name: `${name} (skipped: no adapter of WebGPU)`, fn, ignore: true });
}

/** `onGpu.test()` is `Deno.test()` where there is a driver. */
export const onGpu = {
  test: (name: string, fn: () => void | Promise<void>): void => testOnGpu(name, fn, false),
};

/** `onNativeGpu.test()` is `Deno.test()` where there is a driver, and the kernel is the native one. */
export const onNativeGpu = {
  test: (name: string, fn: () => void | Promise<void>): void => testOnGpu(name, fn, onWasm),
};
