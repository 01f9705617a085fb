//! Nothing is shipped from here: the tests of this package read the repository and its dependencies.
