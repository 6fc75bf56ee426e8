/** Whether the suites run on a real control plane, and the connection of `kopf/testing` to it. */
import { ConnectionInfo } from 'kopf'
import type { RealCluster } from './real-cluster.setup.ts'

export const isReal: boolean = process.env['KOPF_TEST_CLUSTER'] === 'real'

/** An administrator's access to a control plane. */
export type RealAccess = Pick<RealCluster, 'url' | 'caPem' | 'admin'>

export function toConnection({ url, caPem, admin }: RealAccess): ConnectionInfo {
  return new ConnectionInfo({
    server: url,
    caData: caPem,
    certificateData: admin.certPem,
    privateKeyData: admin.keyPem,
  })
}
