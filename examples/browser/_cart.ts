/// <reference lib="dom" />
/**
 * Draws the cart of an episode, at the speed at which it would really move.
 *
 * @module
 */
import type { Episode } from "./_messages.ts";

/** Steps in a second of the environment. */
const RATE = 50;
/** How long the last state of an episode stays, in steps. */
const PAUSE = 40;
/** Half of the track that is shown, in metres; an episode ends beyond 2.4. */
const HALF_TRACK = 2.7;
const POLE_LENGTH = 1; // m
const CART = { width: 0.5, height: 0.28 };

/** Where the animation is. */
export interface Scene {
  /** Environment steps that the policy had learned from. */
  readonly learned: number;
  /** Steps of the episode so far. */
  readonly shown: number;
  /** Whether the episode is over. */
  readonly isOver: boolean;
  /** Whether the pole stood to the end. */
  readonly hasStood: boolean;
}

/** The picture of the cart. */
export class CartPicture {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  /** Asks for another episode, and says what is shown. */
  readonly #wants: () => void;
  readonly #shows: (scene: Scene) => void;
  #episode: Episode | undefined;
  #next: Episode | undefined;
  #isAsked = false;
  #at = 0;
  #drawnAt = 0;
  /** Whether it stands still. */
  isPaused = false;

  constructor(canvas: HTMLCanvasElement, wants: () => void, shows: (scene: Scene) => void) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("the canvas of the cart has no 2D context");
    this.#canvas = canvas;
    this.#context = context;
    this.#wants = wants;
    this.#shows = shows;
    requestAnimationFrame((now) => this.#frame(now));
  }

  /** Shows this episode after the one that is shown now. */
  add(episode: Episode): void {
    this.#next = episode;
  }

  /** Forgets all episodes, and shows a cart that stands still. */
  clear(): void {
    this.#episode = undefined;
    this.#next = undefined;
    this.#isAsked = false;
  }

  #frame(now: number): void {
    // Whoever wants less motion sees two pictures a second.
    const least = matchMedia("(prefers-reduced-motion: reduce)").matches ? 500 : 0;
    const elapsed = now - this.#drawnAt;
    if (elapsed >= least) {
      this.#drawnAt = now;
      // A page in the background gets no frames: it goes on where it was.
      if (!this.isPaused) this.#advance(Math.min(elapsed, 1000) * RATE / 1000);
      this.#draw();
    }
    requestAnimationFrame((later) => this.#frame(later));
  }

  #advance(steps: number): void {
    this.#at += steps;
    const length = this.#episode?.actions.length ?? 0;
    if (this.#at >= length && !this.#isAsked) {
      // Not before: by now the network has learned more.
      this.#isAsked = true;
      this.#wants();
    }
    if (this.#episode !== undefined && this.#at < length + PAUSE) return;
    if (this.#next === undefined) return;
    this.#episode = this.#next;
    this.#next = undefined;
    this.#isAsked = false;
    this.#at = 0;
  }

  #draw(): void {
    const episode = this.#episode;
    const length = episode?.actions.length ?? 0;
    const shown = Math.min(Math.floor(this.#at), length);
    const [position = 0, , angle = 0] = episode?.states.subarray(4 * shown) ?? [];
    const push = shown < length ? episode?.actions[shown] : undefined;
    this.#drawCart(position, angle, push);
    if (episode !== undefined) {
      const isOver = shown === length;
      const hasStood = isOver && length === 500;
      this.#shows({ learned: episode.step, shown, isOver, hasStood });
    }
  }

  #drawCart(position: number, angle: number, push: number | undefined): void {
    const canvas = this.#canvas;
    const context = this.#context;
    const { clientWidth: width, clientHeight: height } = canvas;
    const density = devicePixelRatio;
    if (
      canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)
    ) {
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(height * density);
    }
    const style = getComputedStyle(canvas);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    // From here on lengths are metres, with the middle of the track at 0 and up positive.
    const scale = width / (2 * HALF_TRACK);
    const ground = height - 0.32 * scale;
    context.setTransform(
      density * scale,
      0,
      0,
      -density * scale,
      density * width / 2,
      density * ground,
    );
    context.lineCap = "round";
    const line = (stroke: string, thick: number, ...points: readonly [number, number][]): void => {
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.beginPath();
      for (const [x, y] of points) context.lineTo(x, y);
      context.stroke();
    };
    line(colour("--faint"), 0.02, [-HALF_TRACK, 0], [HALF_TRACK, 0]);
    for (const end of [-2.4, 2.4]) line(colour("--faint"), 0.03, [end, 0], [end, 0.16]);
    line(colour("--faint"), 0.02, [0, -0.04], [0, 0.04]);

    const bottom = 0.08;
    const hinge = bottom + CART.height;
    context.fillStyle = colour("--series-1");
    context.beginPath();
    context.roundRect(position - CART.width / 2, bottom, CART.width, CART.height, 0.05);
    context.fill();
    context.fillStyle = colour("--text");
    for (const wheel of [-0.15, 0.15]) {
      context.beginPath();
      context.arc(position + wheel, bottom, 0.07, 0, 2 * Math.PI);
      context.fill();
    }
    const tip: [number, number] = [
      position + POLE_LENGTH * Math.sin(angle),
      hinge + POLE_LENGTH * Math.cos(angle),
    ];
    line(colour("--series-2"), 0.09, [position, hinge], tip);
    context.fillStyle = colour("--text");
    context.beginPath();
    context.arc(position, hinge, 0.05, 0, 2 * Math.PI);
    context.fill();
    if (push === undefined) return;
    // An arrow on the side that the push comes from.
    const side = push === 1 ? -1 : 1;
    const [from, to] = [position + side * 0.6, position + side * 0.34];
    const middle = bottom + CART.height / 2;
    line(colour("--faint"), 0.03, [from, middle], [to, middle]);
    line(
      colour("--faint"),
      0.03,
      [to + side * 0.08, middle + 0.06],
      [to, middle],
      [to + side * 0.08, middle - 0.06],
    );
  }
}
