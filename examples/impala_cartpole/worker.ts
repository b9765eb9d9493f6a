/**
 * The Worker of an actor.
 *
 * @module
 */
import { serve } from "../_actors.ts";
import { act } from "./actor.ts";

serve(act);
