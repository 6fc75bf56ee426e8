/** Selects the embedded or the real cluster for the tests of the testing kit. */
import { ConnectionInfo } from 'kopf'
import { inject } from 'vitest'

export const isReal: boolean = process.env['KOPF_TEST_CLUSTER'] === 'real'

/** The option for `startCluster({ real })`. */
export function realOrNot(): ConnectionInfo | false {
  if (!isReal) return false
  const { url, caPem, admin } = inject('realCluster')
  return new ConnectionInfo({
    server: url,
    caData: caPem,
    certificateData: admin.certPem,
    privateKeyData: admin.keyPem,
  })
}
