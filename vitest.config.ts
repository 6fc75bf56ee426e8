import { defineConfig, type ViteUserConfig } from 'vitest/config'

/**
 * Two projects run the same suites: `embedded` on the embedded API server of this package, `real` on a Kubernetes control plane built by
 * tools/envtest. `slow` needs only Node too, but takes long: processes that loop, thousands of connections, memory that is filled.
 * `package` installs the packed package, for which npm needs its registry, and `site` opens the built documentation in a browser. All
 * other tests need only Node and are part of `embedded`.
 */
const config: ViteUserConfig = defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    isolate: false,
    // Tests mostly wait for the programs that they start, so two cores can run three files at once.
    maxWorkers: 3,
    // Worker threads inherit these arguments: they import TypeScript files without Vite.
    execArgv: ['--import', './test/support/typescript-in-threads.mjs'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            'test/real/**',
            'test/api-server/real/**',
            'test/site/**',
            'test/package/**',
            'test/**/*.slow.test.ts',
          ],
          env: { KOPF_TEST_CLUSTER: 'embedded' },
          globalSetup: ['test/support/command.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/**/*.slow.test.ts'],
          env: { KOPF_TEST_CLUSTER: 'embedded' },
          globalSetup: ['test/support/command.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: [
            'test/api-server/{conformance,real}/**/*.test.ts',
            'test/{handlers,daemons,timers,indexing,activities,admission,discovery,scope,peering,election,embedding,metrics,reconciling,tracing,examples,cookbook,hostile,real}/**/*.test.ts',
            'test/cli/dashboard-command.test.ts',
            'test/dashboard/{journal,dashboard-*}.test.ts',
            'test/testing/{test-cluster,test-cluster-waits,test-cluster-manifests}.test.ts',
          ],
          // The files of the projects are the same on every cluster.
          exclude: ['test/cookbook/projects{,.slow}.test.ts'],
          env: { KOPF_TEST_CLUSTER: 'real' },
          globalSetup: ['test/support/command.setup.ts', 'test/support/real-cluster.setup.ts'],
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: { name: 'site', include: ['test/site/**/*.test.ts'], globalSetup: ['test/site/page.setup.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          globalSetup: ['test/package/packed.setup.ts'],
          fileParallelism: false,
        },
      },
    ],
  },
})

export default config
