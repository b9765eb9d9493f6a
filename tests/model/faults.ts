/**
 * Deliberate faults of the model, one line each: the test of the test. Every one must make the model and the library
 * disagree, or the model test would not see the same fault in the library.
 *
 * @module
 */

export type Fault = keyof typeof FAULTS;

/** The faults, each with its effect. */
export const FAULTS = {
  swapsOwnPicks: "removal moves the last pick even when it belongs to the episode that goes",
  newPriorityInitial: "a new pick gets the initial priority instead of the largest set so far",
  firstPriorityWins: "of two priorities for one pick in one call the first stays",
  openEndKnown: "the newest record of an open episode claims a known next state",
  terminatedBootstraps: "the discount after a terminated episode's last record is not 0",
  capacityPlusOne: "the store holds one record more than its capacity",
  cutForgetsState: "the final state of an episode that was cut is zeros",
  cutTerminates: "an episode that was cut counts as terminated",
  tagsEnd: "an episode that follows on another has tag 0",
  batchGoesOn: "no episode begins where an environment of a batch is done",
  emptyEnds: "an episode without a record ends like any other",
  firstPrioritiesLost:
    "priorities that came with records are forgotten before their picks are valid",
  mixtureForgetsOwed: "a mixture does not make up for what could not be halved",
  keptIsOwn: "a column that not all records keep has the value of the pick's own first record",
  laberIgnoresMax: "weights of kept candidates are never divided by their largest",
  stackPadsZeros: "frames before an episode's start are zeros where they should repeat the first",
  nStepForgetsDiscount: "n-step returns add up rewards as if the discount were 1",
  learnsFromContext: "the rows before a pick count as rows to learn from",
  shortWhileOpen: "short picks count before their episode has ended",
  handToOldest: "the clock's hand jumps to the oldest episode when its own is evicted",
  lruBackwards: "the picks of a batch are used in reverse",
  lfuTiesByAge: "among episodes drawn equally often the one created first goes",
  newEpisodesLowest: "an episode without a priority counts as having the lowest",
  pickless: "an episode that ended without a pick keeps the priority of a new one",
  lastPickDecides: "an episode's priority is that of its last pick in the call, not the mean",
  drawsOfEpisodes: "an episode is spent after as many draws as are meant for each pick",
  fifoByEnd: "the episode that ended first goes, not the one that was created first",
  handClearsOpen: "the clock's hand clears the flags of open episodes as it passes over them",
  staleGoesOn: "a record with the handle of an episode that ended and was evicted begins a new one",
  orphansGoOn: "a handle whose episode went while open begins new episodes again and again",
  snapshotForgetsOrphans: "a snapshot forgets which handles may go on",
  finalStatesFree: "final states take no bytes of those that may be stored",
  keptBytesOfAll: "a column that some records keep takes the bytes of all",
  ageOfFirstRecord: "an episode's age counts from its first record",
  ageOneMore: "an episode may be one record older than the limit",
  agedSpared: "the episode being recorded is spared however old it is",
  sumsInFloat32: "sums of weights are rounded to float32",
  weightsInFloat64: "weights are kept in float64",
  pointsShared: "stratified draws share one random number",
  normalizeByBatch: "importance weights are always scaled by the batch's largest",
  evictedPicksCount: "priorities for evicted picks count as applied",
  drainsNewest:
    "the newest record of an open episode is handed out with its own state as next state",
  nextStateForgotten: "the next state that came with the newest record is not handed out",
  nextStateStale: "the newest record counts as known though it came without a next state",
  drainsAgain: "an episode that was handed out in part is handed out from its first record again",
  drainForgetsLost: "records evicted before they were handed out are not counted",
  lostTwice: "a drain that gives nothing tells of lost records, and the next one again",
  drainKeeps: "episodes that were handed out whole stay though nobody asked for it",
  drainCutEnds: "an episode cut by a number of steps counts as ended where it was cut",
  snapshotForgetsDrain: "a snapshot forgets what was handed out",
  hindsightFromFirst: "future goals come from a pick's first row on, not from its last",
  snapshotForgetsHindsight: "a snapshot begins the random numbers of hindsight anew",
  snapshotForgetsMaximum: "a snapshot forgets the largest priority",
  snapshotForgetsRandom: "a snapshot begins the random numbers anew",
  ucbCountsLate: "draws of one batch count only once the batch is drawn",
  priorityTiesByAge: "setting a priority does not put a pick behind those of equal priority",
  recentNeverShrinks: "the window of the newest picks stays that of the first batch",
  drawsTwice: "a batch without replacement has picks twice",
  rankTiesByIndex: "of equal priorities the lower index has the better rank, not the older pick",
  pserOneByOne: "the priorities of one call decay back one after the other",
  pserForgets: "a priority may fall below the share of its old value",
  pserCrossesEpisodes: "a priority decays on past the episode's first pick",
  curiousCountsOnce: "several draws of a pick in one batch count as one",
  curiousLossStartsAnew: "setting a loss forgets how often the pick was drawn",
  ucbTiesByIndex: "ties of scores go to the lower index instead of the older pick",
} as const;

export const FAULT_NAMES: readonly Fault[] = Object.keys(FAULTS) as Fault[];
