/** The simulated node on which all pods run. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { User } from '../../identity/authentication.ts'
import { formatTime } from './times.ts'

export const nodeName = 'embedded'

/** The user that writes the node. */
export const kubelet: User = { username: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] }

/** A documentation address (RFC 5737) that is never reachable. */
export const nodeAddress = '192.0.2.1'

export function toNode(): KubeObject {
  const labels = { 'kubernetes.io/arch': 'amd64', 'kubernetes.io/hostname': nodeName, 'kubernetes.io/os': 'linux' }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, labels }, spec: { podCIDR: '10.244.0.0/16' } }
}

export function nodeStatus(nowMs: number, version: string): object {
  const amounts = { cpu: '16', memory: '64Gi', pods: '10000', 'ephemeral-storage': '1Ti' }
  return {
    capacity: amounts,
    allocatable: amounts,
    conditions: [
      healthy('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
      healthy('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
      healthy('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
      { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'pods are played, nothing runs' },
    ].map((one) => ({ ...one, lastHeartbeatTime: formatTime(nowMs), lastTransitionTime: formatTime(nowMs) })),
    addresses: [
      { type: 'InternalIP', address: nodeAddress },
      { type: 'Hostname', address: nodeName },
    ],
    nodeInfo: {
      architecture: 'amd64',
      bootID: '',
      containerRuntimeVersion: 'embedded://0',
      kernelVersion: '',
      kubeProxyVersion: '',
      kubeletVersion: version,
      machineID: '',
      operatingSystem: 'linux',
      osImage: 'kopf embedded',
      systemUUID: '',
    },
  }
}

function healthy(
  type: string,
  reason: string,
  message: string,
): { type: string; status: string; reason: string; message: string } {
  return { type, status: 'False', reason, message }
}
