import { expect, test } from 'vitest'
import type { ClusterSigns } from '../client/cluster-signs.ts'
import { guessHost } from './cluster-host.ts'

const nothing: ClusterSigns = {
  subjectCommonName: undefined,
  subjectOrganization: undefined,
  issuerCommonName: undefined,
  hosts: [],
  gitVersion: undefined,
}

test.each<[string, Partial<ClusterSigns>, string | undefined]>([
  ['k3s, by the name of its certificate', { subjectCommonName: 'k3s' }, 'host.k3d.internal'],
  ['k3s, by the organization', { subjectOrganization: 'k3s' }, 'host.k3d.internal'],
  ['k3s, by who has signed it', { issuerCommonName: 'k3s-server-ca@1605' }, 'host.k3d.internal'],
  ['k3s behind another certificate', { subjectCommonName: 'proxy', gitVersion: 'v1.31.2+k3s1' }, 'host.k3d.internal'],
  ['Minikube', { subjectCommonName: 'minikube' }, 'host.minikube.internal'],
  ['Minikube, by who has signed it', { issuerCommonName: 'minikubeCA' }, 'host.minikube.internal'],
  ['Docker Desktop', { hosts: ['kubernetes', 'docker-for-desktop'] }, 'host.docker.internal'],
  [
    'any other',
    { subjectCommonName: 'kube-apiserver', issuerCommonName: 'kubernetes', hosts: ['localhost'] },
    undefined,
  ],
  ['one that tells nothing', {}, undefined],
])('%s', (_, signs, host) => {
  expect(guessHost({ ...nothing, ...signs })).toBe(host)
})
