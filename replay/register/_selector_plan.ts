/**
 * The plan of adding a selector: the rule and, where it draws by means of others, its parts. The plan refuses all that can be
 * refused before anything is added, because the kernel can't remove a selector.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import { EXRP_LIMIT_SELECTORS, EXRP_STATUS_LIMIT } from "../../ffi/symbols.ts";
import { isComposed, isReference } from "../../selectors/check_selector.ts";
import { policyDifferences } from "../../schema/pick_options.ts";
import type {
  ComposedSelector,
  Composition,
  SelectorPart,
  SelectorRule,
} from "../../selectors/composed_selector.ts";
import { NativeSelector } from "../../selectors/native_selector.ts";
import type { PickSelector } from "../../selectors/pick_selector.ts";
import { serving } from "../rules/serving.ts";
import type { PickView } from "./pick_view.ts";
import type { Selector } from "./selector.ts";

/** One selector to be added, or, as a part, one that is there already. */
export type SelectorPlan =
  | { readonly kind: "there"; readonly selector: Selector }
  | { readonly kind: "native"; readonly rule: NativeSelector }
  | { readonly kind: "custom"; readonly rule: PickSelector }
  | {
    readonly kind: "composed";
    readonly rule: ComposedSelector;
    readonly composition: Composition;
    readonly parts: readonly SelectorPlan[];
  };

const OPERATION = "newPickSelector()";
const METHODS = ["compose", "save", "load"] as const;

/** Plans a checked rule, or a part that may be a selector, and begins each composition in it. */
export function planSelector(rule: SelectorRule | SelectorPart): SelectorPlan {
  if (isReference(rule)) return { kind: "there", selector: rule };
  if (rule instanceof NativeSelector) return { kind: "native", rule };
  if (!isComposed(rule)) return { kind: "custom", rule };
  const composition = checkComposition(rule.name, rule.begin());
  return { kind: "composed", rule, composition, parts: rule.parts.map(planSelector) };
}

/** All selectors of a plan, those that are there already and those that it adds: parts first. */
export function inOrder(plan: SelectorPlan): readonly SelectorPlan[] {
  return plan.kind === "composed" ? [...plan.parts.flatMap(inOrder), plan] : [plan];
}

/**
 * Refuses a part that draws from a pick view of other options than the view of the whole: one batch can't hold the picks of both.
 * `part` and `whole` are the two views.
 */
export function checkSameLayout(kind: string, part: PickView, whole: PickView): void {
  const differences = policyDifferences(part.policy, whole.policy);
  if (differences.length === 0) return;
  const text = differences.map(({ option, one, other }) => `${option} (${one}, not ${other})`);
  throw new TypeError(
    `${OPERATION}: the part ${kind} draws from pick view ${part.id}, which differs from pick view ${whole.id} in ${
      text.join(", ")
    }; the options of all views in one selector must be the same apart from where`,
  );
}

/**
 * Refuses more than the kernel has room for, and an object that serves a selector already. `servesHere` says whether that is one of this
 * replay.
 */
export function checkPlans(
  plans: readonly SelectorPlan[],
  nativeCount: number,
  servesHere: (rule: PickSelector) => boolean,
): void {
  const customs = plans.flatMap((plan) => plan.kind === "custom" ? [plan.rule] : []);
  for (const [k, rule] of customs.entries()) {
    if (!serving.has(rule) && customs.indexOf(rule) === k) continue;
    const whose = !serving.has(rule) || servesHere(rule) ? "this" : "another";
    throw new TypeError(
      `${OPERATION}: the object ${rule.name} serves a selector of ${whose} replay already; make another`,
    );
  }
  const natives = plans.filter(({ kind }) => kind === "native").length;
  if (natives === 0 || nativeCount + natives <= EXRP_LIMIT_SELECTORS) return;
  throw errorOfStatus(OPERATION, EXRP_STATUS_LIMIT, [EXRP_LIMIT_SELECTORS]);
}

function checkComposition(name: string, value: unknown): Composition {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${OPERATION}: begin() of ${name} gave no composition, got ${show(value)}`);
  }
  const methods = value as Partial<Record<string, unknown>>;
  for (const method of METHODS) {
    if (typeof methods[method] === "function") continue;
    throw new TypeError(`${OPERATION}: the composition of ${name} has no method ${method}()`);
  }
  if (methods.asks !== undefined && typeof methods.asks !== "function") {
    throw new TypeError(
      `${OPERATION}: asks of the composition of ${name} must be a function, got ${
        show(methods.asks)
      }`,
    );
  }
  return value as Composition;
}
