/**
 * An actor in a Worker, of which the second one fails in its third rollout.
 *
 * @module
 */
import { serve } from "../../examples/_actors.ts";
import { act, type ActorJob } from "../../examples/impala_cartpole/actor.ts";

serve<ActorJob>((job, tell) => {
  let turns = 0;
  return act(job, (turn) => {
    if (job.index === 1 && ++turns === 3) throw new Error("no pole");
    tell(turn);
  });
});
