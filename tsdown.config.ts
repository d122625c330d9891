import { defineConfig } from 'tsdown'

// `dist` mirrors `src` file by file: the SQLite store starts `stores/sqlite/thread.js` as a worker thread and
// finds it beside its own file, and a stack trace names a file that the reader can open in `src`.
export default defineConfig({
  entry: [
    'src/index.ts',
    'src/stores/sqlite/index.ts',
    'src/stores/sqlite/thread.ts',
    'src/stores/memory/index.ts',
    'src/stores/postgres/index.ts',
    'src/stores/mongo/index.ts',
    'src/notifiers/redis/index.ts',
    'src/pikku/index.ts',
    'src/queues/index.ts',
    'src/runner/index.ts',
    'src/testing/index.ts',
    'src/cli/main.ts',
  ],
  root: 'src',
  unbundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  fixedExtension: false,
  dts: true,
  sourcemap: true,
  clean: true,
})
