export default {
  compilerOptions: {
    runes: true,
    // Short, and the same wherever the sources are.
    cssHash: ({ hash, css }) => `s${hash(css).slice(0, 4)}`,
  },
};
