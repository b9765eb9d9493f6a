/**
 * What is used of commander, which reads the command line.
 *
 * @module
 */

/** The package. */
export interface Commander {
  readonly Command: new (name: string) => CommandLine;
}

/** A command line, or one command of it. */
export interface CommandLine {
  /** Begins a command: its name, and its arguments. */
  command(nameAndArguments: string): CommandLine;
  /** Says what it does. */
  description(text: string): CommandLine;
  /** Adds an option. */
  option(flags: string, description: string, parse?: (text: string) => unknown): CommandLine;
  /** Says what `--version` prints. */
  version(text: string): CommandLine;
  /** Throws instead of ending the program. */
  exitOverride(): CommandLine;
  /** Says where lines go. */
  configureOutput(options: {
    readonly writeOut: (text: string) => void;
    readonly writeErr: (text: string) => void;
  }): CommandLine;
  /** What runs. */
  action(run: (...args: never[]) => Promise<void>): CommandLine;
  /** Reads the arguments and runs the command. */
  parseAsync(args: readonly string[], options: { readonly from: "user" }): Promise<unknown>;
}
