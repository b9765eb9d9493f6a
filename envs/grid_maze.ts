/**
 * A maze on a grid, drawn as text.
 *
 * @module
 */
import { checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkAction, Clock, type StepResult } from "./environment.ts";

/** What each action adds to x and y: up, right, down, left. */
const MOVES = [[0, -1], [1, 0], [0, 1], [-1, 0]] as const;

/**
 * The options of {@linkcode GridMaze}.
 *
 * @example
 * ```ts
 * import { GridMaze } from "@exrp/replay/envs";
 *
 * console.log(new GridMaze(["S.G"], { stepLimit: 20 }).stepLimit); // 20
 * ```
 */
export interface GridMazeOptions {
  /** After how many steps an episode is truncated: 1 to 2^31 - 1. By default 200. */
  readonly stepLimit?: number;
}

/**
 * A maze of cells. An agent goes from the start to the goal, a cell a step. Only the step onto the goal has a reward, 1.
 *
 * A state is the number of a cell: `x + width * y`, counted from the cell at the top left, 0. The actions are 0 up, 1 right, 2 down and
 * 3 left. A move against a wall or off the grid leaves the agent where it is. The episode terminates on the goal, and is truncated after
 * `stepLimit` steps. Nothing is random, so there is no seed.
 *
 * @example
 * ```ts
 * import { GridMaze } from "@exrp/replay/envs";
 *
 * const maze = new GridMaze([
 *   "S#G",
 *   "...",
 * ]);
 * console.log(maze.reset()); // 0
 * console.log(maze.step(1).state); // 0: there is a wall
 * const states = [2, 1, 1, 0].map((action) => maze.step(action).state);
 * console.log(states); // [3, 4, 5, 2]
 * ```
 */
export class GridMaze {
  /** How many actions there are: up, right, down, left. */
  static readonly actionCount: 4 = 4;

  /** How many cells a row has. */
  readonly width: number;
  /** How many cells there are, walls included: states are 0 to `stateCount` - 1. */
  readonly stateCount: number;
  /** The state in which each episode begins. */
  readonly start: number;
  /** The state in which an episode terminates. */
  readonly goal: number;
  /** After how many steps an episode is truncated. */
  readonly stepLimit: number;
  readonly #cells: string;
  readonly #clock: Clock;
  #state = 0;

  /**
   * Makes a maze whose first episode begins with `reset()`.
   *
   * @param rows The rows of the maze, all of one length: `S` is the start, `G` the goal, `#` a wall, `.` a free cell.
   * @throws {TypeError} When `rows` is not an array of texts, or an option is unknown.
   * @throws {RangeError} When rows differ in length, a character is unknown, or there is not one `S` and one `G`.
   */
  constructor(rows: readonly string[], options: GridMazeOptions = {}) {
    checkOptions("GridMaze", options, ["stepLimit"]);
    const { stepLimit = 200 } = options;
    if (!Array.isArray(rows) || !rows.every((row) => typeof row === "string")) {
      throw new TypeError(`GridMaze: the rows must be an array of texts, got ${show(rows)}`);
    }
    const cells = rows.join("");
    const width = rows[0]?.length ?? 0;
    const long = rows.findIndex((row) => row.length !== width);
    if (long >= 0) {
      throw new RangeError(
        `GridMaze: all rows must be as long as the first one, ${width} cells; row ${long} has ${
          rows[long]?.length
        }`,
      );
    }
    const unknown = /[^SG#.]/u.exec(cells)?.[0];
    if (unknown !== undefined) {
      throw new RangeError(`GridMaze: a cell is one of S, G, # and ., got ${show(unknown)}`);
    }
    for (const mark of ["S", "G"]) {
      const count = cells.split(mark).length - 1;
      if (count !== 1) throw new RangeError(`GridMaze: needs one ${mark}, got ${count}`);
    }
    this.stepLimit = checkInteger("GridMaze: stepLimit", stepLimit, 1, 2 ** 31 - 1);
    this.#clock = new Clock("GridMaze", stepLimit);
    this.width = width;
    this.stateCount = cells.length;
    this.start = cells.indexOf("S");
    this.goal = cells.indexOf("G");
    this.#cells = cells;
  }

  /** Begins an episode and returns its first state, {@linkcode GridMaze.start}. */
  reset(): number {
    this.#state = this.start;
    this.#clock.begin();
    return this.#state;
  }

  /**
   * Moves by one cell.
   *
   * @param action 0 up, 1 right, 2 down, 3 left.
   * @throws {TypeError} When `action` is not a number.
   * @throws {RangeError} When `action` is not 0, 1, 2 or 3.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<number> {
    this.#clock.checkStep(action, GridMaze.actionCount);
    this.#state = this.nextState(this.#state, action);
    const terminated = this.#state === this.goal;
    return this.#clock.count(this.#state, terminated ? 1 : 0, terminated);
  }

  /**
   * Where a move from any cell leads to. It takes no step of the episode, so you can look at what a policy would do.
   *
   * @throws {TypeError | RangeError} When there is no such state or action.
   */
  nextState(state: number, action: number): number {
    checkInteger("GridMaze.nextState(): the state", state, 0, this.stateCount - 1);
    checkAction("GridMaze.nextState()", action, GridMaze.actionCount);
    const [dx, dy] = MOVES[action] ?? [0, 0];
    const x = state % this.width + dx;
    const next = state + dx + this.width * dy;
    const isOnGrid = x >= 0 && x < this.width && next >= 0 && next < this.stateCount;
    return isOnGrid && this.#cells[next] !== "#" ? next : state;
  }
}
