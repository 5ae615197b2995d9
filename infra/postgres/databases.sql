-- The ratings' database, beside Dagster's: both keep their schema's version in a table of the same name.
CREATE DATABASE s2s_ratings;
