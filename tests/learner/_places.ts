/** The places where experience may be: a replay, a shared one, a table, and a table of a server. Each with its reader and its writer. */
import {
  type Column,
  ExperienceReplay,
  float16,
  float32,
  int8,
  prioritized,
  uniform,
} from "../../mod.ts";
import {
  type ReplayReader,
  replayReader,
  type ReplayWriter,
  replayWriter,
  tableReader,
  tableWriter,
} from "../../learner/mod.ts";
import type { RateLimiter } from "../../types.ts";
import type { NativeSelector } from "../../selectors/mod.ts";
import { ReverbClient } from "../../reverb/mod.ts";
import { serve } from "../../server/mod.ts";
import { Tables } from "../../tables/mod.ts";

/** What the steps of these tests are. */
export const columns = {
  state: float32(2, 3),
  action: int8(),
  extras: { hidden: float16(2), note: float32() },
};

/** The same as a type. */
export type Steps = {
  state: Column<"float32", [2, 3]>;
  action: Column<"int8", []>;
  extras: { hidden: Column<"float16", [2]>; note: Column<"float32", []> };
};

/** What a place is made with. */
export interface Settings {
  readonly isPrioritized?: boolean;
  readonly nStep?: number;
  readonly rateLimiter?: RateLimiter;
}

/** A place with its two ends. */
export interface Place {
  readonly reader: ReplayReader<Steps>;
  readonly writer: ReplayWriter<Steps>;
}

const DISCOUNT = 0.5;
const SEED = 7;

const samplerOf = ({ isPrioritized }: Settings): NativeSelector =>
  isPrioritized ? prioritized({ alpha: 1, epsilon: 0 }) : uniform();

// deno-lint-ignore explicit-function-return-type -- what create() returns says what the replay holds
function replayOf({ nStep, rateLimiter }: Settings) {
  return ExperienceReplay.create({
    ...columns,
    capacity: 2000,
    pick: { discount: DISCOUNT, ...nStep === undefined ? {} : { nStep: [nStep] as const } },
    ...rateLimiter === undefined ? {} : { rateLimiter },
    seed: SEED,
  });
}

function tablesOf(settings: Settings): Promise<Tables> {
  const { rateLimiter } = settings;
  const steps = {
    maxSize: 2000,
    sampler: samplerOf(settings),
    ...rateLimiter === undefined ? {} : { rateLimiter },
  };
  return Tables.create({ tables: { steps }, seed: SEED });
}

function onTable(tables: Tables | ReverbClient, { nStep = 1 }: Settings): Place {
  return {
    reader: tableReader(tables, "steps", columns),
    writer: tableWriter(tables, "steps", columns, { nStep, discount: DISCOUNT }),
  };
}

type Use = (place: Place) => Promise<void>;

const places: Readonly<Record<string, (settings: Settings, use: Use) => Promise<void>>> = {
  "a replay": async (settings, use) => {
    using replay = await replayOf(settings);
    const reader = replayReader(replay, replay.newPickSelector(samplerOf(settings)));
    await use({ reader, writer: replayWriter(replay, { flushSteps: 3 }) });
  },
  "a shared replay": async (settings, use) => {
    using replay = await replayOf(settings);
    replay.newPickSelector(samplerOf(settings));
    using other = await ExperienceReplay.attach(replay.share());
    const [selector] = other.selectors;
    if (selector === undefined) throw new Error("the selector is not shared");
    await use({ reader: replayReader(other, selector), writer: replayWriter(replay) });
  },
  "a table": async (settings, use) => {
    using tables = await tablesOf(settings);
    await use(onTable(tables, settings));
  },
  "a server": async (settings, use) => {
    using tables = await tablesOf(settings);
    await using server = await serve({ tables });
    await using client = await ReverbClient.connect(server.address);
    await use(onTable(client, settings));
  },
};

/** Registers a test for each place. */
export function onAll(name: string, settings: Settings, test: Use): void {
  for (const [where, open] of Object.entries(places)) {
    Deno.test(`${name}: ${where}`, () =>
      open(settings, async (place) => {
        await test(place);
        await place.reader.close();
        await place.writer.close();
      }));
  }
}
