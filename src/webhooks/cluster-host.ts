/** Under which name a local cluster knows the machine that it runs on, told by the signs of its API server. Pure. */
import type { ClusterSigns } from '../client/cluster-signs.ts'

export const k3dHost = 'host.k3d.internal'
export const minikubeHost = 'host.minikube.internal'
export const dockerDesktopHost = 'host.docker.internal'

/** Undefined where nothing tells. */
export function guessHost(signs: ClusterSigns): string | undefined {
  const { subjectCommonName, subjectOrganization, issuerCommonName = '', hosts, gitVersion = '' } = signs
  if (subjectCommonName === 'k3s' || subjectOrganization === 'k3s' || issuerCommonName.startsWith('k3s-')) {
    return k3dHost
  }
  if (subjectCommonName === 'minikube' || issuerCommonName === 'minikubeCA') return minikubeHost
  if (hosts.includes('docker-for-desktop')) return dockerDesktopHost
  return gitVersion.includes('+k3s') ? k3dHost : undefined
}
