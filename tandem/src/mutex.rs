pub(crate) struct Lock;
