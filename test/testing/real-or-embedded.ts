/** Selects the embedded or the real cluster for the tests of the testing kit. */
import type { ConnectionInfo } from 'kopf'
import { inject } from 'vitest'
import { isReal, toConnection } from '../support/real-access.ts'

export { isReal }

/** The option for `startCluster({ real })`. */
export function realOrNot(): ConnectionInfo | false {
  return isReal && toConnection(inject('realCluster'))
}
