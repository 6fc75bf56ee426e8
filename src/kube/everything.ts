/** The mark for all resources. On its own, since both the notations and the resources speak of it. */

/** All resources, alone or in the place of a name: `EVERYTHING`, `['kopf.dev', EVERYTHING]`. */
export const EVERYTHING: unique symbol = Symbol.for('kopf.EVERYTHING') as never
export type Everything = typeof EVERYTHING
