/**
 * A room that an agent sees as small grey pictures.
 *
 * @module
 */
import { GridMaze } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";

/** The numbers of the room and of its pictures. */
export const ROOM = {
  cells: 5, // along each side
  pixels: 2, // of a cell along each side
  margin: 3, // pixels around the room, so a shift by as many loses nothing
  stepLimit: 20,
} as const;

/** Height and width of a picture: 16 pixels. */
export const SIDE: number = ROOM.cells * ROOM.pixels + 2 * ROOM.margin;

/** How bright each part is. The rest is black. */
const GREY = { goal: 140, agent: 255 };

/** What a step leads to: as in `@exrp/replay/envs`, but the state is a picture. */
export interface PictureStep {
  /** uint8 `[16, 16]`. */
  readonly picture: Uint8Array<ArrayBuffer>;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** A `GridMaze` without walls inside. Each episode has another start and another goal. */
export class PictureRoom {
  readonly #random: RandomStream;
  #room = new GridMaze(["SG"]);

  constructor(seed: number) {
    this.#random = new RandomStream(seed);
  }

  /** Begins an episode, and returns its first picture, uint8 `[16, 16]`. */
  reset(): Uint8Array<ArrayBuffer> {
    const { cells, stepLimit } = ROOM;
    const marks = new Array<string>(cells ** 2).fill(".");
    const start = this.#random.below(cells ** 2);
    const goal = (start + 1 + this.#random.below(cells ** 2 - 1)) % cells ** 2;
    marks[start] = "S";
    marks[goal] = "G";
    const rows = Array.from(
      { length: cells },
      (_, y) => marks.slice(y * cells, (y + 1) * cells).join(""),
    );
    this.#room = new GridMaze(rows, { stepLimit });
    return this.#picture(this.#room.reset());
  }

  /** Moves by one cell: 0 up, 1 right, 2 down, 3 left. */
  step(action: number): PictureStep {
    const { state, ...step } = this.#room.step(action);
    return { picture: this.#picture(state), ...step };
  }

  #picture(agent: number): Uint8Array<ArrayBuffer> {
    const picture = new Uint8Array(SIDE * SIDE);
    paint(picture, this.#room.goal, GREY.goal);
    paint(picture, agent, GREY.agent);
    return picture;
  }
}

/** Paints one cell. */
function paint(picture: Uint8Array, cell: number, grey: number): void {
  const { cells, pixels, margin } = ROOM;
  const [left, top] = [
    margin + pixels * (cell % cells),
    margin + pixels * Math.floor(cell / cells),
  ];
  for (let y = top; y < top + pixels; y++) {
    picture.fill(grey, y * SIDE + left, y * SIDE + left + pixels);
  }
}
